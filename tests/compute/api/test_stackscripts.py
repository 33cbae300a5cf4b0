"""The API of deployment scripts."""

import hashlib

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Event, GlobalGrants, Grant
from compute.models import Disk, StackScript
from tests.client import errors
from tests.factories import DiskFactory, GrantFactory, ImageFactory, StackScriptFactory
from tests.world import STRONG

pytestmark = pytest.mark.django_db

SCRIPTS = "/v4/compute/stackscripts"
TEXT = '#!/bin/sh\n# <UDF name="motd" label="Message" default="hi" />\n# <UDF name="role" label="R" oneOf="a,b"/>\n'
FIELDS = [
    {"name": "motd", "label": "Message", "example": "", "default": "hi"},
    {"name": "role", "label": "R", "example": "", "oneOf": "a,b"},
]


@pytest.fixture
def image(world):
    return world.image


@pytest.fixture
def body(image) -> dict:
    return {"label": "greeter", "images": [image.pk], "script": TEXT}


def recorded_actions() -> list[str]:
    return list(Event.objects.order_by("pk").values_list("action", flat=True))


def ids(response) -> list[int]:
    return [script["id"] for script in response.json()["data"]]


# --- creating --------------------------------------------------------------------------------------------


def test_a_script_is_created_with_defaults_and_its_fields(api, body, account, owner):
    made = api.post(SCRIPTS, body).json()
    script = StackScript.objects.get()
    assert made == {
        "id": script.pk,
        "username": owner.username,
        "user_gravatar_id": hashlib.md5(owner.email.encode(), usedforsecurity=False).hexdigest(),
        "label": "greeter",
        "description": "",
        "ordinal": 0,
        "logo_url": "",
        "images": ["compute/test11"],
        "deployments_total": 0,
        "deployments_active": 0,
        "is_public": False,
        "mine": True,
        "created": made["created"],
        "updated": made["updated"],
        "rev_note": "",
        "script": TEXT,
        "user_defined_fields": FIELDS,
    }
    assert script.account == account
    assert api.get(f"{SCRIPTS}/{script.pk}").json() == made
    event = Event.objects.get()
    assert (event.action, event.entity_type, event.entity_id) == ("stackscript_create", "stackscript", script.pk)
    assert (event.username, event.entity_url) == (owner.username, f"/v4/compute/stackscripts/{script.pk}")


def test_all_errors_are_reported_together_and_nothing_is_created(api, image):
    hidden = ImageFactory(id="private/9", number=9, account=StackScriptFactory().account, is_public=False)
    assert errors(api.post(SCRIPTS, {})) == {
        "label": "label is required", "images": "images is required", "script": "script is required",
    }  # fmt: skip
    assert errors(
        api.post(
            SCRIPTS,
            {
                "label": "fine",
                "images": ["any/all", "nope", hidden.pk],
                "script": "<UDF/>",
                "rev_note": "x" * 513,
                "description": "x" * 65_536,
            },
        )
    ) == {
        "images[1]": "nope is not valid",
        "images[2]": "private/9 is not valid",
        "rev_note": "Length must be at most 512 characters",
        "description": "Length must be at most 65535 characters",
        "script": "The UDF tag on line 1 has no name.",
    }
    assert errors(api.post(SCRIPTS, {"label": "fine", "images": ["any/all"], "script": "\n<UDF/>"})) == {
        "script": "The UDF tag on line 2 has no name."
    }
    assert errors(api.post(SCRIPTS, {"label": "fine", "images": ["any/all"], "script": "x" * 65_536})) == {
        "script": "Length must be at most 65535 characters"
    }
    assert StackScript.objects.count() == 1
    assert not Event.objects.exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"label": "ab"},
        {"label": None},
        {"images": []},
        {"images": "any/all"},
        {"images": [1]},
        {"script": ""},
        {"script": 5},
        {"is_public": "yes"},
        {"images": ["any/all"] * 101 + [str(n) for n in range(101)]},
    ],
    ids=lambda wrong: str(wrong)[:20],
)
def test_a_field_of_the_wrong_kind_is_named(api, body, wrong):
    (field,) = wrong
    assert {name.partition("[")[0] for name in errors(api.post(SCRIPTS, {**body, **wrong}))} == {field}


def test_spaces_and_line_ends_of_a_script_are_kept(api, body):
    text = "  #!/bin/sh\r\n\techo \n\n"
    assert api.post(SCRIPTS, {**body, "script": text}).json()["script"] == text


def test_a_public_script_needs_public_images(api, body, account):
    private = ImageFactory(id="private/9", number=9, account=account, is_public=False)
    both = {**body, "images": ["compute/test11", private.pk]}
    script = api.post(SCRIPTS, both).json()
    refused = {"images[1]": "A public script needs public images."}
    assert errors(api.post(SCRIPTS, {**both, "is_public": True})) == refused
    assert errors(api.put(f"{SCRIPTS}/{script['id']}", {"is_public": True})) == refused
    assert api.put(f"{SCRIPTS}/{script['id']}", {"is_public": True, "images": ["any/all"]}).status_code == 200


def test_adding_needs_the_grant_and_the_creator_may_write(client_for, restricted, body):
    api = client_for(restricted)
    assert api.post(SCRIPTS, body).status_code == 403
    GlobalGrants.objects.update(add_stackscripts=True)
    made = api.post(SCRIPTS, body).json()
    assert made["mine"]
    grant = Grant.objects.get()
    assert (grant.entity_type, grant.entity_id, grant.permissions) == ("stackscript", made["id"], "read_write")
    assert api.put(f"{SCRIPTS}/{made['id']}", {"label": "mine now"}).json()["label"] == "mine now"


# --- who sees and changes what ---------------------------------------------------------------------------


def test_anybody_reads_the_public_ones_and_only_those(anonymous, client_for, owner, stranger, account):
    private = StackScriptFactory(account=account)
    public = StackScriptFactory(account=account, is_public=True)
    for api in (anonymous, client_for(stranger)):
        assert ids(api.get(SCRIPTS)) == [public.pk]
        shown = api.get(f"{SCRIPTS}/{public.pk}").json()
        assert (shown["mine"], shown["username"]) == (False, "owner")
        assert api.get(f"{SCRIPTS}/{private.pk}").status_code == 404
    assert ids(client_for(owner).get(SCRIPTS)) == [private.pk, public.pk]
    assert client_for(owner, "computes:read_only").get(SCRIPTS).status_code == 401


def test_a_restricted_user_sees_public_or_granted_scripts(client_for, restricted, account):
    hidden, read, write = StackScriptFactory.create_batch(3, account=account)
    public = StackScriptFactory(is_public=True)
    GrantFactory(user=restricted, entity_type="stackscript", entity_id=read.pk)
    GrantFactory(user=restricted, entity_type="stackscript", entity_id=write.pk, permissions="read_write")
    api = client_for(restricted)
    assert ids(api.get(SCRIPTS)) == [read.pk, write.pk, public.pk]
    for script, status in ((hidden, 404), (read, 403), (public, 403), (write, 200)):
        assert api.put(f"{SCRIPTS}/{script.pk}", {"label": "changed"}).status_code == status
        assert api.delete(f"{SCRIPTS}/{script.pk}").status_code == status


def test_scripts_of_other_accounts_cannot_be_changed(client_for, stranger, anonymous):
    public = StackScriptFactory(is_public=True)
    for api, status in ((client_for(stranger), 403), (anonymous, 401)):
        assert api.put(f"{SCRIPTS}/{public.pk}", {"label": "stolen"}).status_code == status
        assert api.delete(f"{SCRIPTS}/{public.pk}").status_code == status
    public.refresh_from_db()
    assert public.label != "stolen"


# --- changing --------------------------------------------------------------------------------------------


def test_each_way_to_change_a_script_tells_its_own_event(api, account, image):
    script = StackScriptFactory(account=account)
    path = f"{SCRIPTS}/{script.pk}"

    api.put(path, {"label": "renamed", "description": "x"})
    assert recorded_actions() == ["stackscript_update"]

    revised = api.put(path, {"script": TEXT, "rev_note": "Ask more."}).json()
    assert (revised["user_defined_fields"], revised["rev_note"]) == (FIELDS, "Ask more.")
    assert recorded_actions()[1:] == ["stackscript_revise"]

    assert api.put(path, {"is_public": True, "images": [image.pk, image.pk]}).json()["images"] == [image.pk]
    assert recorded_actions()[2:] == ["stackscript_publicize", "stackscript_update"]

    api.put(path, {"rev_note": "Asks more."})
    assert recorded_actions()[4:] == ["stackscript_update"]


def test_a_put_of_the_answer_of_get_makes_no_event(api, body):
    made = api.post(SCRIPTS, body).json()
    assert api.put(f"{SCRIPTS}/{made['id']}", made).json() == made
    assert recorded_actions() == ["stackscript_create"]


def test_a_public_script_cannot_become_private(api, account):
    script = StackScriptFactory(account=account, is_public=True)
    path = f"{SCRIPTS}/{script.pk}"
    assert errors(api.put(path, {"is_public": False, "label": "another"})) == {
        "is_public": "A public script cannot be made private again."
    }
    script.refresh_from_db()
    assert script.is_public
    assert api.put(path, {"is_public": True}).status_code == 200
    assert not recorded_actions()


def test_a_broken_revision_changes_nothing(api, account):
    script = StackScriptFactory(account=account, script=TEXT)
    assert set(errors(api.put(f"{SCRIPTS}/{script.pk}", {"label": "new label", "script": '<UDF name="1"/>'}))) == {
        "script"
    }
    script.refresh_from_db()
    assert (script.script, script.label.startswith("script"), script.user_defined_fields) == (TEXT, True, FIELDS)


def test_deleting_drops_its_grants_and_leaves_its_disks(api, restricted, account):
    script = StackScriptFactory(account=account)
    GrantFactory(user=restricted, entity_type="stackscript", entity_id=script.pk)
    disk = DiskFactory(stackscript=script)
    assert api.delete(f"{SCRIPTS}/{script.pk}").json() == {}
    disk.refresh_from_db()
    assert disk.stackscript is None
    assert not Grant.objects.exists()
    assert recorded_actions() == ["stackscript_delete"]
    assert api.delete(f"{SCRIPTS}/{script.pk}").status_code == 404


# --- including others ------------------------------------------------------------------------------------


def including(*ids: int | str) -> str:
    return "#!/bin/bash\n" + "".join(f'source <ssinclude StackScriptID="{each}">\n' for each in ids)


def test_a_script_includes_those_that_the_account_may_use(api, body, account):
    own, public = StackScriptFactory(account=account), StackScriptFactory(is_public=True)
    text = including(own.pk, public.pk)
    made = api.post(SCRIPTS, {**body, "script": text})
    assert (made.status_code, made.json()["script"]) == (200, text)


@pytest.mark.parametrize("way", ["create", "update"])
def test_a_script_that_includes_one_that_it_may_not_use_is_refused(api, body, account, way):
    own, theirs = StackScriptFactory(account=account, script=TEXT), StackScriptFactory()
    for number in (theirs.pk, 999_999_999, 10**17, 10**30, 0, -1, "x", ""):
        wrong = {**body, "script": including(own.pk, number)}
        refused = api.post(SCRIPTS, wrong) if way == "create" else api.put(f"{SCRIPTS}/{own.pk}", wrong)
        assert refused.status_code == 400
        assert set(errors(refused)) == {"script"}
    own.refresh_from_db()
    assert own.script == TEXT
    assert not recorded_actions()
    refused = api.post(SCRIPTS, {**body, "script": including(own.pk, theirs.pk)})
    assert errors(refused)["script"] == (
        f"The ssinclude tag on line 3 names script {theirs.pk}, which does not exist or which you may not use."
    )
    refused = api.post(SCRIPTS, {**body, "script": including("x") + "<UDF/>"})
    assert [each["reason"] for each in refused.json()["errors"]] == [
        "The UDF tag on line 3 has no name.",
        'The ssinclude tag on line 2 is not well formed: it needs an id, as StackScriptID="123".',
    ]


def test_a_restricted_user_includes_only_granted_scripts(client_for, restricted, body, account):
    GlobalGrants.objects.update(add_stackscripts=True)
    own, api = StackScriptFactory(account=account), client_for(restricted)
    assert set(errors(api.post(SCRIPTS, {**body, "script": including(own.pk)}))) == {"script"}
    GrantFactory(user=restricted, entity_type="stackscript", entity_id=own.pk)
    assert api.post(SCRIPTS, {**body, "script": including(own.pk)}).status_code == 200


def test_a_public_script_includes_public_scripts_only(api, body, account):
    own = StackScriptFactory(account=account)
    made = api.post(SCRIPTS, {**body, "script": including(own.pk)}).json()
    reason = f"The ssinclude tag on line 2 names script {own.pk}, which does not exist or is not public."
    assert errors(api.put(f"{SCRIPTS}/{made['id']}", {"is_public": True})) == {"script": reason}
    assert errors(api.post(SCRIPTS, {**body, "script": made["script"], "is_public": True})) == {"script": reason}
    StackScript.objects.filter(pk=own.pk).update(is_public=True)
    assert api.put(f"{SCRIPTS}/{made['id']}", {"is_public": True}).status_code == 200


def test_a_script_does_not_include_itself(api, account):
    first = StackScriptFactory(account=account)
    second = StackScriptFactory(account=account, script=including(first.pk))
    for number, place in ((first.pk, "line 2"), (second.pk, f"line 2 of script {second.pk}")):
        refused = api.put(f"{SCRIPTS}/{first.pk}", {"script": including(number)})
        assert errors(refused) == {"script": f"The ssinclude tag on {place} includes script {first.pk} in itself."}


def test_a_deployment_that_lacks_an_included_script_is_refused(api, world, account):
    included = StackScriptFactory(account=account)
    script = StackScriptFactory(account=account, script=including(included.pk))
    body = {
        "region": world.region.pk,
        "type": world.type.pk,
        "image": world.image.pk,
        "root_pass": STRONG,
        "stackscript_id": script.pk,
    }
    assert api.post("/v4/compute/instances", body).status_code == 200
    assert api.delete(f"{SCRIPTS}/{included.pk}").status_code == 200
    assert set(errors(api.post("/v4/compute/instances", body))) == {"stackscript_id"}
    assert Disk.objects.filter(stackscript=script).count() == 1


# --- listing ---------------------------------------------------------------------------------------------


def test_deployments_are_counted_in_the_query_of_the_page(api, account):
    _, second = StackScriptFactory.create_batch(2, account=account, deployments_total=5)
    DiskFactory.create_batch(3, stackscript=second)
    with CaptureQueriesContext(connection) as few:
        listed = api.get(SCRIPTS).json()["data"]
    assert [script["deployments_active"] for script in listed] == [0, 3]
    assert [script["deployments_total"] for script in listed] == [5, 5]
    for script in StackScriptFactory.create_batch(5, account=account):
        DiskFactory(stackscript=script)
    with CaptureQueriesContext(connection) as many:
        assert api.get(SCRIPTS).json()["results"] == 7
    assert len(many) == len(few)
    assert api.get(f"{SCRIPTS}/{second.pk}").json()["deployments_active"] == 3
    assert api.put(f"{SCRIPTS}/{second.pk}", {"label": "renamed"}).json()["deployments_active"] == 3


@pytest.mark.parametrize(
    ("x_filter", "found"),
    [
        ({"mine": True}, ["mine"]),
        ({"mine": False}, ["other"]),
        ({"is_public": True}, ["other"]),
        ({"label": {"+contains": "oth"}}, ["other"]),
        ({"description": "of the account"}, ["mine"]),
        ({"rev_note": "first"}, ["mine"]),
        ({"deployments_total": {"+gte": 7}}, ["other"]),
        ({"+order_by": "deployments_total", "+order": "desc"}, ["other", "mine"]),
    ],
)
def test_filters(api, account, x_filter, found):
    StackScriptFactory(account=account, label="mine", description="of the account", rev_note="first")
    StackScriptFactory(label="other", is_public=True, deployments_total=7)
    listed = api.get(SCRIPTS, x_filter=x_filter).json()["data"]
    assert [script["label"] for script in listed] == found


def test_a_field_that_cannot_be_filtered_is_refused(api, anonymous):
    assert errors(api.get(SCRIPTS, x_filter={"script": "x"})) == {"X-Filter": "Cannot filter on script"}
    assert anonymous.get(f"{SCRIPTS}?mine=true").json()["results"] == 0
