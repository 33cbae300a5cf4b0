"""Rebuild in a browser, with a script and its fields."""

import re

import pytest

from accounts.models import User
from accounts.services import ssh_keys
from compute.models import Instance
from compute.pages.rebuild import UNCONFIRMED
from config.encryption import decrypt_json
from tests.accounts.pages.browsers import problems
from tests.compute.pages.visiting import last_event, owner_of, page_of, restricted_at, text_of
from tests.compute.run_jobs import finish
from tests.compute.worker.scenarios import deployed
from tests.factories import ImageFactory, StackScriptFactory
from tests.world import STRONG

pytestmark = pytest.mark.django_db

SCRIPT = """#!/bin/sh
# <UDF name="motd" label="Message" default="welcome" />
# <UDF name="role" label="Role" oneOf="web,db" />
# <UDF name="parts" label="Parts" manyOf="a,b,c" default="a" />
# <UDF name="db_password" label="Database password" />
# <UDF name="api_token" label="Token" default="" />
"""


@pytest.fixture
def instance(world, driver) -> Instance:
    return deployed(world, driver)


def sent(world, **fields) -> dict:
    return {"image": world.image.pk, "root_pass": STRONG, "booted": "on", "confirm": "on", **fields}


def test_an_instance_is_rebuilt(world, driver, instance):
    before = set(instance.disks.values_list("pk", flat=True))
    answer = owner_of(world).post(page_of(instance, "rebuild"), sent(world))
    assert answer["Location"] == page_of(instance)
    assert last_event(instance) == "compute_rebuild"
    finish(instance, driver)
    assert instance.status == "running"
    assert not before & set(instance.disks.values_list("pk", flat=True))


def test_the_user_confirms_that_all_disks_are_deleted(world, instance):
    fields = sent(world)
    del fields["confirm"]
    answer = owner_of(world).post(page_of(instance, "rebuild"), fields)
    assert problems(answer, "confirm") == UNCONFIRMED
    assert STRONG not in text_of(answer)
    assert not instance.jobs.filter(kind="rebuild").exists()


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"image": ""}, "image", "You must specify an image"),
        ({"image": "compute/none"}, "image", "Image is not valid"),
        ({"root_pass": "x"}, "root_pass", "Length must be 7-128 characters"),
        ({"authorized_keys": "ssh-rsa x"}, "authorized_keys", ""),
    ],
)
def test_reasons_stand_at_their_fields(world, instance, fields, field, reason):
    answer = owner_of(world).post(page_of(instance, "rebuild"), sent(world, **fields))
    assert reason in problems(answer, field) != ""


def test_a_generated_password_is_shown_once(world, instance):
    body = sent(world, root_pass="", generate="on")
    answer = owner_of(world).post(page_of(instance, "rebuild"), body, follow=True)
    shown = re.search(r'id="root-password"[^>]*>([^<]+)', text_of(answer))
    job = instance.jobs.get(finished_at=None)
    assert shown
    assert shown[1] == decrypt_json(job.encrypted)["root_pass"]


def test_a_script_s_fields_become_fields_of_the_form(world, instance):
    script = StackScriptFactory(account=world.account, label="Shop", script=SCRIPT)
    browser = owner_of(world)
    assert "Shop" in text_of(browser.get(page_of(instance, "rebuild")))
    page = text_of(browser.get(page_of(instance, f"rebuild?script={script.pk}")))
    for part in (
        "Message",
        'value="welcome"',
        "Role",
        "Parts",
        'type="password" name="stackscript_data.db_password"',
    ):
        assert part in page
    fields = sent(world, stackscript_id=script.pk)
    answer = browser.post(page_of(instance, "rebuild"), fields)
    assert problems(answer, "stackscript_data.role") == "Role is required"
    values = {"motd": "hello", "role": "db", "parts": ["a", "c"], "db_password": "secret"}
    answer = browser.post(
        page_of(instance, "rebuild"),
        {**fields, **{f"stackscript_data.{name}": each for name, each in values.items()}},
    )
    assert answer.status_code == 302, problems(answer, "stackscript_data.role")
    text = decrypt_json(instance.jobs.get(finished_at=None).encrypted)["script"]
    for value in ("hello", "db", "a,c", "secret"):
        assert value in text


def test_a_nul_in_a_value_of_a_script_is_refused(world, instance):
    script = StackScriptFactory(account=world.account, script=SCRIPT)
    given = {"role": "web", "db_password": "x", "motd": "a\x00b"}
    fields = sent(world, stackscript_id=script.pk)
    fields |= {f"stackscript_data.{name}": value for name, value in given.items()}
    answer = owner_of(world).post(page_of(instance, "rebuild"), fields)
    assert problems(answer, "stackscript_data.motd") == "Message is not valid"
    assert not instance.jobs.filter(finished_at=None).exists()


def test_nothing_is_rebuilt_without_a_script_that_is_gone(world, instance):
    script = StackScriptFactory(account=world.account, script="#!/bin/sh\n")
    browser, page = owner_of(world), page_of(instance, "rebuild")
    fields = sent(world, stackscript_id=script.pk)
    script.delete()
    answer = browser.post(page, fields)
    assert "Deployment script is not valid" in text_of(answer)
    assert not instance.jobs.filter(finished_at=None).exists()
    assert browser.post(page, {**fields, "stackscript_id": ""}).status_code == 302


def test_secrets_of_a_script_are_not_shown_again(world, instance):
    script = StackScriptFactory(account=world.account, label="Shop", script=SCRIPT)
    values = {"stackscript_data.api_token": "hush-token", "stackscript_data.motd": "shown-again"}
    fields = sent(world, stackscript_id=script.pk, root_pass="x", **values)
    page = text_of(owner_of(world).post(page_of(instance, "rebuild"), fields))
    assert "shown-again" in page
    assert "hush-token" not in page


def test_images_and_scripts_of_others_are_not_offered(world, instance, stranger):
    ImageFactory(label="Theirs", account=stranger.account, is_public=False, id="private/77", number=77)
    script = StackScriptFactory(account=stranger.account, label="Not mine", script=SCRIPT)
    page = text_of(owner_of(world).get(page_of(instance, f"rebuild?script={script.pk}")))
    for part in ("Theirs", "Not mine", "Database password"):
        assert part not in page


def test_keys_of_users_are_offered(world, instance):
    user = User.objects.get(pk=world.actor.person)
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Vn5m3fM0Jz8Q3p1l3o3zXH0m0pY3lN8m7k2bq4t6S me@laptop"
    ssh_keys.add(world.actor, key, "laptop")
    page = text_of(owner_of(world).get(page_of(instance, "rebuild")))
    assert re.search(rf'name="authorized_users" value="{user.username}"[^>]*checked', page)
    page = text_of(restricted_at(instance, "read_write").get(page_of(instance, "rebuild")))
    assert "authorized_users" not in page
