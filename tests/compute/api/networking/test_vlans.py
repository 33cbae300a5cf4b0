"""VLANs: how they are created and deleted, and who sees them."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Event, Grant, User
from compute.models import VLAN, Backup, Instance
from compute.services.backups.restores import restore
from compute.services.hosts.moves import migrate
from compute.services.instances.clones import CloneSpec, clone
from compute.services.instances.rebuild import RebuildSpec, rebuild
from compute.services.removal import remove
from regions.models import Region
from tests.client import errors
from tests.compute.memory_driver import failing_at
from tests.compute.run_jobs import work
from tests.compute.worker.scenarios import backed_up, deployed
from tests.factories import AddressPoolFactory, HostFactory, InstanceFactory
from tests.world import STRONG

pytestmark = pytest.mark.django_db

VLANS = "/v4/networking/vlans"


def on(*labels: str) -> list[dict]:
    return [{"purpose": "vlan", "label": label} for label in labels]


@pytest.fixture
def owner(world) -> User:
    world.region.capabilities = ["Computes", "Vlans"]
    world.region.save()
    return User.objects.get(pk=world.actor.user_id)


@pytest.fixture
def make(world):
    return lambda: InstanceFactory(account=world.account, region=world.region, type=world.type, host=world.host)


@pytest.fixture
def instance(make) -> Instance:
    return make()


@pytest.fixture
def elsewhere(world) -> Region:
    region = Region.objects.create(id="us-other", country="us", capabilities=["Computes", "Vlans"])
    HostFactory(region=region)
    AddressPoolFactory(region=region, network="203.0.113.0/24", addresses=9)
    AddressPoolFactory(region=region, kind="private", network="10.9.0.0/24", addresses=9)
    return region


def profile(api, instance: Instance, *labels: str):
    body = {"label": "mine", "devices": {}, "interfaces": on(*labels)}
    return api.post(f"/v4/compute/instances/{instance.pk}/configs", body)


def shown(api, **wanted) -> dict[str, list[int]]:
    answer = api.get(VLANS, wanted)
    assert answer.status_code == 200, answer.content
    return {each["label"]: each["computes"] for each in answer.json()["data"]}


def vlans_of_events(action: str) -> list[str]:
    return list(Event.objects.filter(action=action).order_by("pk").values_list("secondary_label", flat=True))


# --- the list --------------------------------------------------------------------------------------------


def test_there_are_none_before_a_profile_names_one(api):
    assert api.get(VLANS).json() == {"data": [], "page": 1, "pages": 1, "results": 0}


def test_a_vlan_is_shown_with_the_instances_whose_profiles_name_it(api, make):
    one, two = make(), make()
    profile(api, one, "front", "back")
    profile(api, one, "back")
    profile(api, two, "back")
    (front, back) = sorted(api.get(VLANS).json()["data"], key=lambda each: -len(each["label"]))
    created = str(VLAN.objects.get(label="front").created)[:19].replace(" ", "T")
    assert front == {"label": "front", "region": "us-test", "computes": [one.pk], "created": created}
    assert back["computes"] == [one.pk, two.pk]


def test_they_are_filtered_by_label_and_region(api, instance):
    profile(api, instance, "front", "back")
    assert list(shown(api, label="front")) == ["front"]
    assert shown(api, region="us-other") == {}
    assert list(shown(api, label={"+contains": "ck"})) == ["back"]
    assert [each["label"] for each in api.get(f"{VLANS}?label=back").json()["data"]] == ["back"]
    assert api.get(VLANS, {"computes": instance.pk}).status_code == 400


def test_they_are_filtered_and_ordered_by_the_time_they_were_made(api, instance):
    profile(api, instance, "front", "back")
    VLAN.objects.filter(label="front").update(created="2024-05-06T07:08:09.5Z")
    assert list(shown(api, created="2024-05-06T07:08:09")) == ["front"]
    assert list(shown(api, created={"+gt": "2024-05-06T07:08:09"})) == ["back"]
    assert list(shown(api, **{"+order_by": "created"})) == ["front", "back"]
    assert list(shown(api, **{"+order_by": "created", "+order": "desc"})) == ["back", "front"]
    assert list(shown(api, **{"+order": "asc"})) == ["back", "front"]


def test_the_same_label_in_two_regions_is_two_vlans(api, world, instance, elsewhere):
    there = InstanceFactory(account=world.account, region=elsewhere, type=world.type)
    profile(api, instance, "back")
    profile(api, there, "back")
    rows = api.get(VLANS).json()["data"]
    assert [(row["region"], row["computes"]) for row in rows] == [
        ("us-test", [instance.pk]),
        ("us-other", [there.pk]),
    ]


def test_other_accounts_have_their_own(api, client_for, stranger, world, instance):
    theirs = InstanceFactory(account=stranger.account, region=world.region, type=world.type, host=world.host)
    other = client_for(stranger)
    profile(api, instance, "back")
    profile(other, theirs, "back")
    assert shown(api) == {"back": [instance.pk]}
    assert shown(other) == {"back": [theirs.pk]}


def test_a_restricted_user_sees_vlans_of_granted_instances(api, client_for, world, make):
    one, two = make(), make()
    profile(api, one, "back")
    profile(api, two, "back", "front")
    helper = User.objects.create_user("worldhelper", account=world.account, restricted=True)
    restricted = client_for(helper)
    assert shown(restricted) == {}
    Grant.objects.create(user=helper, entity_type="compute", entity_id=one.pk, permissions="read_only")
    assert shown(restricted) == {"back": [one.pk]}


def test_the_list_always_takes_two_queries(api, make):
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            shown(api)
        return len(captured)

    profile(api, make(), "one")
    queries()
    few = queries()
    for number in range(3):
        profile(api, make(), "one", f"more-{number}")
    assert queries() == few == 2


# --- coming and going ------------------------------------------------------------------------------------


def test_it_is_on_a_vlan_as_long_as_any_of_its_profiles_names_it(api, instance):
    first, second = profile(api, instance, "back").json(), profile(api, instance, "back", "front").json()
    assert vlans_of_events("vlan_attach") == ["back", "front"]
    path = f"/v4/compute/instances/{instance.pk}/configs"

    api.put(f"{path}/{first['id']}", {"interfaces": []})
    assert vlans_of_events("vlan_detach") == []
    assert shown(api) == {"back": [instance.pk], "front": [instance.pk]}

    api.delete(f"{path}/{second['id']}")
    assert vlans_of_events("vlan_detach") == ["back", "front"]
    assert shown(api) == {}


def test_a_vlan_without_profile_is_deleted_and_can_be_created_again(api, instance):
    made = profile(api, instance, "back").json()
    VLAN.objects.update(created="2020-01-01T00:00:00Z")
    api.delete(f"/v4/compute/instances/{instance.pk}/configs/{made['id']}")
    assert shown(api) == {}
    profile(api, instance, "back")
    assert api.get(VLANS).json()["data"][0]["created"] > "2021"


def test_vlans_of_a_deleted_instance_are_removed(api, instance):
    profile(api, instance, "back", "front")
    remove(instance)
    assert shown(api) == {}
    assert vlans_of_events("vlan_detach") == ["back", "front"]


def test_an_account_has_at_most_ten_in_a_region(api, world, make, elsewhere):
    instance = make()
    for number in range(10):
        assert profile(api, instance, f"vlan-{number}").status_code == 200
    refused = errors(profile(api, instance, "vlan-0", "one-more"))
    assert refused == {"interfaces": "An account has at most 10 VLANs in a region."}
    assert profile(api, make(), "vlan-0", "vlan-9").status_code == 200
    there = InstanceFactory(account=world.account, region=elsewhere, type=world.type)
    assert profile(api, there, "one-more").status_code == 200

    instance.configs.filter(interfaces__contains=[{"label": "vlan-5"}]).delete()
    assert profile(api, instance, "one-more").status_code == 200
    assert len(shown(api, region="us-test")) == 10


# --- clones and moves ------------------------------------------------------------------------------------


@pytest.fixture
def networked(api, world, driver) -> Instance:
    instance = deployed(world, driver, interfaces=({"purpose": "vlan", "label": "back"},))
    Event.objects.all().delete()
    return instance


def test_a_clone_is_on_the_vlans_of_its_source(api, world, networked, elsewhere):
    target = clone(world.actor, networked, CloneSpec(region="us-other"))
    rows = api.get(VLANS).json()["data"]
    assert [(row["region"], row["computes"]) for row in rows] == [
        ("us-test", [networked.pk]),
        ("us-other", [target.pk]),
    ]
    assert vlans_of_events("vlan_attach") == ["back"]


def test_a_clone_that_fails_is_off_them_again(api, world, driver, networked, settings):
    target = deployed(world, driver, image=None)
    clone(world.actor, networked, CloneSpec(compute_id=target.pk))
    assert shown(api) == {"back": [networked.pk, target.pk]}
    driver.before = failing_at(len(driver.calls), times=settings.JOB_ATTEMPTS + 1)
    assert work(target.jobs.get(finished_at=None), driver).state == "failed"
    assert shown(api) == {"back": [networked.pk]}
    assert (vlans_of_events("vlan_attach"), vlans_of_events("vlan_detach")) == (["back"], ["back"])


def test_an_instance_that_moves_takes_its_vlans_along(api, world, driver, networked, elsewhere):
    job = migrate(world.actor, networked, "us-other")
    assert [row["region"] for row in api.get(VLANS).json()["data"]] == ["us-test"]

    # during the move the instance joins no other VLAN, and its own one counts against the new region's limit
    assert errors(profile(api, networked, "another")) == {None: "Compute busy."}
    there = InstanceFactory(account=world.account, region=elsewhere, type=world.type)
    for number in range(9):
        assert profile(api, there, f"vlan-{number}").status_code == 200
    assert "interfaces" in errors(profile(api, there, "vlan-10"))

    work(job, driver)
    rows = {row["label"]: row for row in api.get(VLANS, {"label": "back"}).json()["data"]}
    assert rows["back"]["region"] == "us-other"
    assert rows["back"]["computes"] == [networked.pk]
    assert (vlans_of_events("vlan_attach").count("back"), vlans_of_events("vlan_detach")) == (0, [])


def test_vlans_of_a_restoring_backup_are_reserved(api, world, driver, instance):
    source = backed_up(world, driver, interfaces=({"purpose": "vlan", "label": "back"},))
    api.put(f"/v4/compute/instances/{source.pk}/configs/{source.configs.get().pk}", {"interfaces": []})
    assert shown(api) == {}
    restore(world.actor, Backup.objects.get(instance=source), source.pk, overwrite=True)
    for number in range(9):
        assert profile(api, instance, f"vlan-{number}").status_code == 200
    assert "interfaces" in errors(profile(api, instance, "vlan-10"))
    assert work(source.jobs.get(finished_at=None), driver).state == "done"
    assert shown(api, label="back") == {"back": [source.pk]}


def test_a_rebuild_leaves_the_vlans_of_the_profiles_that_it_replaces(api, world, driver, networked):
    rebuild(world.actor, networked, RebuildSpec(image=world.image.pk, root_pass=STRONG))
    assert shown(api) == {"back": [networked.pk]}
    work(networked.jobs.get(finished_at=None), driver)
    assert shown(api) == {}
    assert vlans_of_events("vlan_detach") == ["back"]
