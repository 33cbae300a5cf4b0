"""The page that creates an instance: its fields with their reasons, its permissions, and the generated
password."""

import re

import pytest
from django.test import Client

from accounts.models import Event, GlobalGrants, SSHKey, User
from compute.models import VLAN, Config, Disk, Host, Instance, Job
from compute.pages.instance_create import TYPE_AGAIN
from compute.pages.instance_form import NO_IMAGE
from compute.services.common.password_strength import WEAK, is_strong
from compute.services.hosts.placement import REGION_FULL
from compute.services.instances import instances
from config.encryption import decrypt_json
from tests.accounts.pages.browsers import careful, problems
from tests.accounts.signing_in import limit
from tests.compute.at_consoles import signed_in
from tests.compute.pages.creating import KEY, PAGE, SCRIPT, browser, checked, fields, user
from tests.factories import (
    AccountFactory,
    FirewallFactory,
    GlobalGrantsFactory,
    GrantFactory,
    StackScriptFactory,
    UserFactory,
)
from tests.racing import held_up, race
from tests.world import STRONG

__all__ = ["browser", "fields", "limit", "user"]

pytestmark = pytest.mark.django_db


def created(browser: Client, fields: dict) -> Instance:
    answer = browser.post(PAGE, fields)
    assert answer.status_code == 302, re.findall(r"errorlist.*?</ul>", answer.content.decode(), re.DOTALL)
    instance = Instance.objects.latest("pk")
    assert answer["Location"] == f"/home/instances/{instance.pk}"
    return instance


def refused(browser: Client, fields: dict, field: str) -> str:
    """Send a form that is refused, and return the reason at a field."""
    answer = browser.post(PAGE, fields)
    assert answer.status_code == 200
    assert not Instance.objects.exists()
    return problems(answer, field)


def secrets_of(instance: Instance) -> dict:
    return decrypt_json(Job.objects.get(instance=instance).encrypted)


class TestCreating:
    def test_the_choices_made_already_create_an_instance(self, world, browser):
        page = browser.get(PAGE).content.decode()
        sent = {name: checked(page, name)[0] for name in ("region", "image", "type", "booted")}
        answer = browser.post(PAGE, {**sent, "swap_size": "512", "label": "", "root_pass": ""}, follow=True)
        assert answer.status_code == 200
        instance = Instance.objects.get()
        assert instance.label == f"compute{instance.pk}"
        assert Event.objects.get(entity_id=instance.pk).action == "compute_create"
        assert f'href="/home/instances/{instance.pk}"' in answer.content.decode()

    def test_every_field_reaches_the_instance(self, world, browser, user, fields):
        world.region.capabilities = [*world.region.capabilities, "Vlans"]
        world.region.save()
        SSHKey.objects.create(user=user, label="laptop", ssh_key=KEY)
        firewall = FirewallFactory(account=world.account)
        script = StackScriptFactory(account=world.account, script=SCRIPT)
        more = {
            "label": "web-1", "tags": "shop, front", "authorized_users": ["worldowner"],
            "authorized_keys": f"{KEY} a\r\n{KEY} b\r\n", "private_ip": "on", "vlan": "back",
            "vlan_address": "10.0.0.1/24", "firewall_id": firewall.pk, "backups_enabled": "on",
            "stackscript_id": script.pk, "script_shown": script.pk, "stackscript_data.motd": "",
            "stackscript_data.role": "db", "stackscript_data.parts": ["b", "c"],
            "stackscript_data.db_password": "geheim 'x'", "swap_size": "256",
        }  # fmt: skip
        instance = created(browser, {**fields, **more})
        assert (instance.label, sorted(instance.tags), len(instance.ipv4)) == ("web-1", ["front", "shop"], 2)
        assert instance.backups_enabled
        assert firewall.devices.get().instance == instance
        assert VLAN.objects.get().label == "back"
        assert [each["purpose"] for each in Config.objects.get().interfaces] == ["public", "vlan"]
        assert Config.objects.get().interfaces[1]["ipam_address"] == "10.0.0.1/24"
        assert Disk.objects.get(filesystem="swap").size == 256
        kept = secrets_of(instance)
        assert kept["root_pass"] == STRONG
        assert kept["authorized_keys"] == [f"{KEY} a", f"{KEY} b", KEY]
        for line in ("MOTD=''", "ROLE=db", "PARTS=b,c", "DB_PASSWORD='geheim '\"'\"'x'\"'\"''"):
            assert f"export {line}\n" in kept["script"]

    def test_no_image_makes_an_instance_without_disks(self, browser, fields):
        instance = created(browser, {**fields, "image": NO_IMAGE, "root_pass": ""})
        assert (instance.image, instance.disks.count()) == (None, 0)

    def test_unticked_boxes_are_no(self, world, browser, fields):
        del fields["booted"]
        instance = created(browser, {**fields, "swap_size": "0"})
        assert Job.objects.get(instance=instance).data["boot"] is False
        assert instance.disks.count() == 1

    def test_a_page_sent_twice_creates_one_instance(self, browser, fields):
        once = re.search(r'name="once" value="(\w+)"', browser.get(PAGE).content.decode())[1]
        instance = created(browser, {**fields, "once": once})
        assert browser.post(PAGE, {**fields, "once": once})["Location"] == f"/home/instances/{instance.pk}"
        assert Instance.objects.count() == 1
        created(browser, fields)
        created(browser, fields)

    @pytest.mark.django_db(transaction=True)
    def test_a_form_sent_several_times_at_once_creates_one_instance(
        self, browser, fields, limit, settings, monkeypatch
    ):
        create, calls = instances.create, []

        def create_while_others_wait(*given):
            calls.append(held_up())
            return create(*given)

        def send(number: int) -> str:
            again = Client()
            again.cookies[settings.SESSION_COOKIE_NAME] = key
            return again.post(PAGE, {**fields, "root_pass": "", "once": "same"})["Location"]

        limit(instance_create="99/60")
        key = browser.session.session_key
        monkeypatch.setattr(instances, "create", create_while_others_wait)
        addresses = race(send)
        assert calls == [True]
        assert set(addresses) == {f"/home/instances/{Instance.objects.get().pk}/password/shown"}
        assert 'id="root-password"' in browser.get(addresses[0]).content.decode()
        assert browser.get(addresses[0]).status_code == 302

    def test_a_form_that_is_refused_can_be_sent_again(self, browser, fields):
        assert refused(browser, {**fields, "once": "same", "label": "-"}, "label")
        created(browser, {**fields, "once": "same"})

    def test_a_form_of_another_site_is_refused(self, browser, fields):
        assert careful(browser).post(PAGE, fields).status_code == 403


class TestGeneratedPassword:
    def test_it_is_strong_and_shown_once(self, browser, fields):
        answer = browser.post(PAGE, {**fields, "root_pass": ""}, follow=True)
        page = answer.content.decode()
        password = re.search(r'id="root-password"[^>]*>([^<]*)<', page)[1]
        instance = Instance.objects.get()
        assert is_strong(password)
        assert secrets_of(instance)["root_pass"] == password
        assert f"ssh root@{instance.ipv4[0]}" in page
        assert "no-store" in answer["Cache-Control"]
        assert f"/home/instances/{instance.pk}/state" in page
        for address in (f"/home/instances/{instance.pk}", PAGE):
            assert password not in browser.get(address).content.decode()
        assert password not in str(dict(browser.session))

    def test_a_typed_password_is_asked_for_again_if_another_field_is_refused(self, browser, fields):
        assert refused(browser, {**fields, "label": "-"}, "root_pass") == TYPE_AGAIN
        answer = browser.post(PAGE, {**fields, "label": "-", "root_pass": ""})
        assert TYPE_AGAIN not in answer.content.decode()

    def test_it_is_not_made_where_a_password_is_wrong(self, browser, fields):
        assert refused(browser, {**fields, "root_pass": "short"}, "root_pass") == "Length must be 7-128 characters"


class TestReasons:
    @pytest.mark.parametrize(
        ("field", "value", "reason"),
        [
            ("root_pass", "password1", WEAK),
            ("label", "-web", "Label is not valid"),
            ("tags", "ab", "Length must be 3-50 characters"),
            ("authorized_keys", "key", "SSH key is not valid"),
            ("authorized_users", "nobody", "nobody has no SSH key on the profile"),
            ("swap_size", "much", '"Swap disk in MB" is not valid'),
            ("swap_size", "25000", "The image (1300 MB)"),
            ("region", "nowhere", "Region is not valid"),
            ("type", "huge", "A valid plan type by that ID was not found"),
            ("image", "compute/none", "Image is not valid"),
            ("image", "", "Image is required"),
            ("firewall_id", "7", "Firewall is not valid"),
            ("stackscript_id", "7", "Script is not valid"),
            ("vlan", "back", "This region does not offer VLANs."),
        ],
    )
    def test_they_stand_at_the_field(self, browser, fields, field, value, reason):
        assert reason in refused(browser, {**fields, field: value}, field)

    def test_a_full_region_is_refused(self, world, browser, fields):
        Host.objects.update(enabled=False)
        assert refused(browser, fields, "region") == REGION_FULL

    def test_all_are_named_at_once_and_typed_values_stay(self, browser, fields):
        answer = browser.post(
            PAGE, {**fields, "label": "-web", "root_pass": "weak", "tags": "shop", "vlan_address": "x"}
        )
        page = answer.content.decode()
        assert all(problems(answer, field) for field in ("label", "root_pass", "vlan", "vlan_address"))
        assert 'value="-web"' in page
        assert 'value="shop"' in page
        assert 'value="weak"' not in page

    def test_the_fields_of_a_script_have_reasons(self, world, browser, fields):
        script = StackScriptFactory(account=world.account, script=SCRIPT)
        answer = browser.post(PAGE, {**fields, "stackscript_id": script.pk})
        assert "Role is required" in problems(answer, "stackscript_data.role")
        assert 'value="welcome"' in answer.content.decode()
        assert checked(answer.content.decode(), "stackscript_data.parts") == ["a", "b"]

    def test_backups_that_the_type_or_the_account_decide_are_disabled(self, world, browser):
        world.account.backups_enabled = True
        world.account.save()
        page = browser.get(PAGE).content.decode()
        assert "The settings of your account turn on backups" in page
        assert "<strong>$7.50</strong> a month" in page
        world.type.backup_price_monthly = None
        world.type.save()
        assert "Backups are not offered for this type." in browser.get(PAGE).content.decode()

    def test_creating_too_often_is_refused_as_by_the_api(self, browser, fields, limit, client_for, user):
        limit(instance_create="2/60")
        created(browser, fields)
        client_for(user).post("/v4/compute/instances", {})
        answer = browser.post(PAGE, fields)
        assert answer.status_code == 429
        assert re.search(r"Too many attempts\. Try again in \d+ seconds", answer.content.decode())
        assert Instance.objects.count() == 1


class TestWho:
    def test_restricted_users_need_the_grant(self, world, fields):
        grants = GlobalGrantsFactory(user__account=world.account)
        browser = signed_in(grants.user)
        for address in (PAGE, f"{PAGE}/choice"):
            assert browser.get(PAGE).status_code == browser.post(address, fields).status_code == 403
        GlobalGrants.objects.update(add_computes=True)
        instance = created(browser, fields)
        assert Instance.objects.writable_by(world.actor).filter(pk=instance.pk).exists()
        assert browser.get(f"/home/instances/{instance.pk}").status_code == 200

    def test_restricted_users_are_offered_only_their_objects(self, world):
        user = GlobalGrantsFactory(user__account=world.account, add_computes=True).user
        SSHKey.objects.create(user=User.objects.get(pk=world.actor.user_id), label="not mine", ssh_key=KEY)
        for label in ("seen", "written", "unseen"):
            firewall = FirewallFactory(account=world.account, label=label)
            if label != "unseen":
                level = "read_write" if label == "written" else "read_only"
                GrantFactory(user=user, entity_type="firewall", entity_id=firewall.pk, permissions=level)
        page = signed_in(user).get(PAGE).content.decode()
        assert re.findall(r"<option[^>]*>(seen|written|unseen)<", page) == ["written"]
        assert 'name="tags"' not in page
        assert "not mine" not in page

    def test_the_users_keys_are_ticked_and_others_are_offered(self, world, browser, user):
        other = UserFactory(account=world.account, username="aaa")
        SSHKey.objects.create(user=other, label="", ssh_key=KEY)
        for label in ("laptop", "desktop"):
            SSHKey.objects.create(user=user, label=label, ssh_key=KEY)
        SSHKey.objects.create(user=UserFactory(account=AccountFactory()), label="theirs", ssh_key=KEY)
        page = browser.get(PAGE).content.decode()
        assert checked(page, "authorized_users") == ["worldowner"]
        assert "worldowner: laptop, desktop" in page
        assert "aaa: key " in page
        assert "theirs" not in page

    def test_visitors_sign_in_and_staff_have_no_page(self, staff, db):
        assert Client().get(PAGE)["Location"].startswith("/login")
        assert signed_in(staff).get(PAGE).status_code == 404
