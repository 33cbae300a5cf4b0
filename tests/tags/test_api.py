"""The API of tags."""

from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.actors import Actor
from accounts.models import Event
from compute.models import Domain, Instance
from compute.services.domains import domains
from compute.services.domains.domains import DomainSpec
from config.errors import Busy, Missing
from tags.models import Tag, Tagging
from tags.services import labels, set_tags
from tests.client import errors, wrong_fields
from tests.factories import (
    DomainFactory,
    FirewallFactory,
    GrantFactory,
    InstanceFactory,
    NodeBalancerFactory,
    VolumeFactory,
)

pytestmark = pytest.mark.django_db
PATH = "/v4/tags"
FACTORIES = {
    "compute": InstanceFactory,
    "domain": DomainFactory,
    "nodebalancer": NodeBalancerFactory,
    "volume": VolumeFactory,
}
ADDRESSES = {
    "compute": "/v4/compute/instances/{}",
    "domain": "/v4/domains/{}",
    "nodebalancer": "/v4/nodebalancers/{}",
    "volume": "/v4/volumes/{}",
}


@pytest.fixture
def objects(account) -> dict[str, int]:
    """Create one object of each kind. Returns the ids by kind."""
    return {kind: factory(account=account).pk for kind, factory in FACTORIES.items()}


def make(api, objects, label="prod"):
    return api.post(PATH, {"label": label, **{f"{kind}s": [pk] for kind, pk in objects.items()}})


def test_a_tag_is_made_on_objects_of_each_kind(api, objects):
    assert make(api, objects).json() == {"label": "prod"}
    assert api.get(PATH).json()["data"] == [{"label": "prod"}]
    listed = api.get(f"{PATH}/prod").json()
    assert listed["results"] == 4
    assert {each["type"]: each["data"]["id"] for each in listed["data"]} == objects
    for each in listed["data"]:
        assert each["data"]["tags"] == ["prod"]
    event = Event.objects.get()
    assert (event.action, event.entity_type, event.entity_url) == ("tag_create", "tag", "/v4/tags/prod")


def test_each_is_shown_as_its_own_endpoint_shows_it(api, objects):
    make(api, objects)
    for each in api.get(f"{PATH}/prod").json()["data"]:
        own = api.get(ADDRESSES[each["type"]].format(each["data"]["id"]))
        if own.status_code != 404 or each["type"] in ("compute", "domain"):
            assert own.json() == each["data"]


def test_a_tag_may_be_made_alone_and_lives_on(api, account):
    api.post(PATH, {"label": "alone"})
    assert api.get(f"{PATH}/alone").json() == {"data": [], "page": 1, "pages": 1, "results": 0}
    domain = DomainFactory(account=account)
    api.put(f"/v4/domains/{domain.pk}", {"tags": ["written"]})
    api.put(f"/v4/domains/{domain.pk}", {"tags": []})
    assert [each["label"] for each in api.get(PATH).json()["data"]] == ["alone", "written"]


@pytest.mark.parametrize("label", ["a/b", "50% off?", "ünï#", "v4/tags", "a b"])
def test_any_label_can_be_named_in_a_path(api, label):
    api.post(PATH, {"label": label})
    path = f"{PATH}/{quote(label, safe='')}"
    assert api.get(path).status_code == 200
    assert Event.objects.get().entity_url == path
    assert api.delete(path).json() == {}
    assert not Tag.objects.exists()


@pytest.mark.parametrize("label", ["a//b", "/ab", "ab/", "../", "//x//", "///"])
def test_slashes_of_a_label_are_not_those_that_clients_leave_in_paths(api, label):
    api.post(PATH, {"label": label})
    path = f"{PATH}/{quote(label, safe='')}"
    assert api.get(path).json()["results"] == 0
    assert api.delete(path).json() == {}
    assert not Tag.objects.exists()
    assert api.get(path).status_code == 404


def test_slashes_too_many_are_tolerated_around_labels(api):
    api.post(PATH, {"label": "shop"})
    for path in ("/v4/tags/shop/", "/v4/tags//shop//", "/v4//tags///shop", "/v4beta/tags/shop/"):
        assert api.get(path).status_code == 200
    for path in ("/v4/tags/", "/v4/tags//"):
        assert api.get(path).json()["data"] == [{"label": "shop"}]
    assert api.delete("/v4/tags/shop/").json() == {}


@pytest.mark.parametrize("wanted", [{"type": "domain"}, {"label": "a"}, "{", {"+order_by": "id"}], ids=str)
def test_tagged_objects_cannot_be_filtered(api, objects, wanted):
    make(api, objects)
    assert wrong_fields(api.get(f"{PATH}/prod", x_filter=wanted)) == ["X-Filter"]


def test_tagging_changes_when_an_object_was_updated(api, account):
    domain = DomainFactory(account=account)

    def updated_by(change) -> bool:
        before = Domain.objects.get().updated
        assert change().status_code == 200
        return Domain.objects.get().updated > before

    assert updated_by(lambda: api.post(PATH, {"label": "prod", "domains": [domain.pk]}))
    assert updated_by(lambda: api.delete(f"{PATH}/prod"))
    assert updated_by(lambda: api.put(f"/v4/domains/{domain.pk}", {"tags": ["written"]}))


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "label"),
        ({"label": "ab"}, "label"),
        ({"label": "x" * 51}, "label"),
        ({"label": "taken"}, "label"),
        ({"label": "fresh", "computes": [999_999]}, "computes"),
        ({"label": "fresh", "domains": ["x"]}, "domains[0]"),
        ({"label": "fresh", "volumes": [0]}, "volumes[0]"),
        ({"label": "fresh", "nodebalancers": 5}, "nodebalancers"),
    ],
    ids=str,
)
def test_bad_input_names_the_field_and_makes_nothing(api, account, objects, body, field):
    Tag.objects.create(account=account, label="taken")
    whole = {"domains": [objects["domain"]], **body}
    assert wrong_fields(api.post(PATH, whole))[0].partition("[")[0] == field.partition("[")[0]
    assert list(Tag.objects.values_list("label", flat=True)) == ["taken"]
    assert not Tagging.objects.exists()
    assert not Event.objects.exists()


def test_one_object_of_another_account_spoils_it_all(api, objects):
    answer = make(api, {**objects, "volume": VolumeFactory().pk})
    assert wrong_fields(answer) == ["volumes"]
    assert not Tag.objects.exists()
    assert Domain.objects.get().tags == []


def test_deleting_a_tag_takes_it_off_everything(api, account, objects):
    make(api, objects)
    other = DomainFactory(account=account)
    api.put(f"/v4/domains/{other.pk}", {"tags": ["first", "prod", "last"]})
    assert api.delete(f"{PATH}/prod").json() == {}
    assert api.get(f"{PATH}/prod").status_code == 404
    assert api.delete(f"{PATH}/prod").status_code == 404
    other.refresh_from_db()
    assert other.tags == ["first", "last"]
    assert Instance.objects.get().tags == []
    assert Tagging.objects.count() == 2
    assert Event.objects.latest("pk").action == "tag_delete"


def test_tags_of_another_account_do_not_exist(api, client_for, stranger, objects):
    make(api, objects)
    theirs = client_for(stranger)
    assert theirs.get(PATH).json()["results"] == 0
    assert (theirs.get(f"{PATH}/prod").status_code, theirs.delete(f"{PATH}/prod").status_code) == (404, 404)
    assert theirs.post(PATH, {"label": "prod"}).json() == {"label": "prod"}


def test_restricted_users_see_granted_objects_of_tags_and_change_nothing(api, client_for, restricted, objects):
    make(api, objects)
    for kind in ("domain", "volume"):
        GrantFactory(user=restricted, entity_type=kind, entity_id=objects[kind], permissions="read_write")
    theirs = client_for(restricted)
    listed = theirs.get(f"{PATH}/prod").json()
    assert (listed["results"], {each["type"] for each in listed["data"]}) == (2, {"domain", "volume"})
    assert theirs.get(PATH).json()["data"] == [{"label": "prod"}]
    assert theirs.post(PATH, {"label": "fresh"}).status_code == 403
    assert theirs.delete(f"{PATH}/prod").status_code == 403


def test_restricted_users_see_only_tags_of_visible_objects(api, client_for, account, restricted, objects):
    make(api, {"domain": objects["domain"], "volume": objects["volume"]}, "shared")
    make(api, {"compute": objects["compute"]}, "hidden")
    make(api, {}, "of-nothing")
    FirewallFactory(account=account, tags=set_tags(account.pk, "firewall", 7, ["of-a-wall"]))
    theirs = client_for(restricted)
    assert theirs.get(PATH).json()["data"] == []
    assert theirs.get(f"{PATH}/shared").status_code == 404
    GrantFactory(user=restricted, entity_type="domain", entity_id=objects["domain"])
    assert theirs.get(PATH).json() == {"data": [{"label": "shared"}], "page": 1, "pages": 1, "results": 1}
    assert [each["type"] for each in theirs.get(f"{PATH}/shared").json()["data"]] == ["domain"]
    assert theirs.get(PATH, x_filter={"label": "hidden"}).json()["results"] == 0
    for label in ("hidden", "of-nothing", "none"):
        assert theirs.get(f"{PATH}/{label}").status_code == 404
    GrantFactory(user=restricted, entity_type="firewall", entity_id=7)
    assert [each["label"] for each in theirs.get(PATH).json()["data"]] == ["shared", "of-a-wall"]
    assert len(api.get(PATH).json()["data"]) == 4


def test_listing_tags_is_one_query_for_restricted_users_too(api, client_for, restricted, objects):
    make(api, objects)
    GrantFactory(user=restricted, entity_type="domain", entity_id=objects["domain"])
    theirs = client_for(restricted)
    theirs.get(PATH)
    with CaptureQueriesContext(connection) as queries:
        assert theirs.get(PATH).json()["results"] == 1
    assert len(queries) == 2  # the caller, the page


def test_full_objects_are_shown_to_a_token_that_may_read_the_account(api, client_for, owner, objects):
    make(api, objects)
    answer = client_for(owner, "account:read_only").get(f"{PATH}/prod")
    assert answer.json() == api.get(f"{PATH}/prod").json()
    assert client_for(owner, "computes:read_only").get(f"{PATH}/prod").status_code == 401


def test_all_that_is_wrong_is_named_at_once(api, objects):
    make(api, objects)
    body = {"label": "prod", "computes": [0], "domains": [DomainFactory().pk], "volumes": "all"}
    assert errors(api.post(PATH, body)) == {
        "label": "This tag exists already.",
        "computes[0]": "computes is not valid",
        "domains": "domains is not valid",
        "volumes": "volumes is not valid",
    }
    answer = api.post(PATH, {**body, "label": " ab "})
    assert errors(answer)["label"] == "Length must be 3-50 characters"


def test_blanks_around_a_label_are_not_kept_and_null_is_not_given(api):
    nulls = dict.fromkeys(("computes", "domains", "volumes", "nodebalancers"))
    assert api.post(PATH, {"label": "  two words ", **nulls}).json() == {"label": "two words"}
    assert errors(api.post(PATH, {"label": None})) == {"label": "label is required"}


def test_pages_hold_all_kinds_in_one_order(api, account):
    everything = [("domain", domain.pk) for domain in (DomainFactory(account=account) for _ in range(30))] + [
        ("volume", volume.pk) for volume in (VolumeFactory(account=account) for _ in range(30))
    ]
    ids = {kind: [pk for other, pk in everything if other == kind] for kind in ("domain", "volume")}
    api.post(PATH, {"label": "many", "domains": ids["domain"], "volumes": ids["volume"]})
    first, second, third = (api.get(f"{PATH}/many?page_size=25&page={page}").json() for page in (1, 2, 3))
    assert (first["pages"], first["results"]) == (3, 60)
    seen = [(each["type"], each["data"]["id"]) for page in (first, second, third) for each in page["data"]]
    assert len(seen) == 60
    assert set(seen) == set(everything)


def test_a_page_costs_one_query_for_each_kind_on_it_however_many_objects(api, account):
    def cost(label: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert api.get(f"{PATH}/{label}?page_size=100").status_code == 200
        return len(queries)

    few = {kind: factory(account=account).pk for kind, factory in FACTORIES.items()}
    make(api, few, "few")
    api.post(PATH, {"label": "many", "domains": [DomainFactory(account=account).pk for _ in range(40)]})
    cost("few")
    assert cost("few") == 6  # the caller, the page, four kinds
    assert cost("many") == 3


@pytest.mark.django_db(transaction=True)
def test_tagging_and_deleting_the_tag_at_once_never_leave_half_of_it(account, owner):
    """The last writer decides. Both tables agree, and no request waits forever."""
    actor = Actor(account.pk, owner.pk, owner.username)
    made = [DomainFactory(account=account) for _ in range(4)]

    def write(number: int) -> None:
        try:
            domain = made[number % 4]
            if number % 3:
                domains.update(actor, domain, DomainSpec({}, ["shared"] if number % 2 else []))
            else:
                tag = Tag.objects.filter(label="shared").first()
                if tag is not None:
                    labels.delete(actor, tag)
        except (Missing, Busy):
            pass  # another thread deleted the tag, or adds it faster than it can be deleted
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(120)))
    carrying = set(Tagging.objects.values_list("entity_id", flat=True))
    assert {domain.pk for domain in Domain.objects.filter(tags__contains=["shared"])} == carrying


@pytest.mark.parametrize("kind", FACTORIES)
def test_tags_given_twice_are_no_change(api, objects, kind):
    make(api, objects)
    Event.objects.all().delete()
    path = ADDRESSES[kind].format(objects[kind])
    assert api.put(path, {"tags": ["prod", "prod"]}).json()["tags"] == ["prod"]
    assert not Event.objects.exists()
