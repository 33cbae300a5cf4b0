"""The choices on the page that creates an instance, the parts that depend on them, and the request that it
shows."""

import json
import re
import shlex
from html import unescape

import pytest
from django.test import Client

from accounts.models import Account, SSHKey
from accounts.quotas import RESOURCE_QUOTAS
from compute.models import Backup, Host, Instance, Job
from compute.pages import choices
from compute.pages.instance_form import AS_IN_THE_BACKUP
from compute.services.common.password_strength import WEAK
from compute.services.hosts.placement import REGION_FULL
from config.pages.reasons import text_on_page
from tests.accounts.pages.browsers import careful
from tests.compute.at_consoles import signed_in
from tests.compute.pages.creating import KEY, PAGE, SCRIPT, browser, checked, fields, user
from tests.compute.pages.parts import backup_of
from tests.factories import (
    FirewallFactory,
    GlobalGrantsFactory,
    GrantFactory,
    HostFactory,
    ImageFactory,
    InstanceTypeFactory,
    RegionFactory,
    StackScriptFactory,
    UserFactory,
)
from tests.world import STRONG

__all__ = ["browser", "fields", "user"]

pytestmark = pytest.mark.django_db


def body_of_curl(page: str) -> dict:
    """Return the body of the page's command, with secrets as variables."""
    found = re.search(r'<code id="curl">(.*?)</code>', page, re.DOTALL)
    words = shlex.split(unescape(found[1]).replace("\\\n", " "))
    assert words[:3] == ["curl", "-X", "POST"]
    assert words[3].endswith("/v4/compute/instances")
    assert "Authorization: Bearer $TOKEN" in words
    return json.loads(words[-1])


def disabled(page: str, element: str) -> bool:
    return " disabled" in re.search(rf'<(?:input|option)[^>]*id="{re.escape(element)}"[^>]*>', page)[0]


def test_selects_that_leave_out_choices_say_so(world, user, browser, monkeypatch):
    monkeypatch.setattr(choices, "MAX_LISTED", 1)
    others = UserFactory(account=world.account, username="a-colleague")
    sentences = ("These are the first 1 by label.", choices.MORE_OF_SCRIPTS, choices.MORE_KEYS)
    for number, owner in enumerate((user, others)):
        FirewallFactory(account=world.account, label=f"firewall-{number}")
        StackScriptFactory(account=world.account, label=f"script-{number}")
        SSHKey.objects.create(user=owner, label="laptop", ssh_key=KEY)
        page = unescape(browser.get(PAGE).content.decode())
        assert [sentence in page for sentence in sentences] == [number > 0] * 3
        assert f"{user.username}: laptop" in page, "the user's own keys come first"
        assert "a-colleague: laptop" not in page


class TestChoices:
    def test_they_are_made_already(self, world, browser):
        page = browser.get(PAGE).content.decode()
        assert checked(page, "region") == [world.region.pk]
        assert checked(page, "image") == [world.image.pk]
        assert checked(page, "type") == [world.type.pk]
        assert "<strong>$5</strong> a month" in page
        assert "$0.01 an hour" in page

    def test_an_address_makes_them(self, world, browser):
        RegionFactory(id="other")
        HostFactory(region_id="other")
        image, plan = ImageFactory(), InstanceTypeFactory(id="large", price_monthly=40)
        script = StackScriptFactory(account=world.account, script=SCRIPT)
        chosen = {"region": "other", "image": image.pk, "type": plan.pk, "stackscript_id": script.pk}
        page = browser.get(PAGE, chosen).content.decode()
        assert [checked(page, name)[0] for name in ("region", "image", "type")] == ["other", image.pk, "large"]
        assert "Message of the day" in page
        assert browser.get(PAGE, {"stackscript_id": "9" * 20, "region": "x", "swap_size": "-"}).status_code == 200

    def test_an_unavailable_choice_is_disabled_with_the_reason(self, world, browser):
        RegionFactory(id="full")
        InstanceTypeFactory(id="gpu", type_class="gpu")
        other = ImageFactory()
        Host.objects.update(images=[world.image.pk])
        page = browser.get(PAGE).content.decode()
        assert disabled(page, "region-full")
        assert disabled(page, "type-gpu")
        assert disabled(page, f"image-{other.pk}")
        assert not disabled(page, f"type-{world.type.pk}")
        missing = "This region does not offer GPU instances.", "This region does not offer VLANs."
        for reason in (REGION_FULL, *missing):
            assert reason in page

    def test_a_type_beyond_a_quota_is_disabled_with_the_reason(self, world, browser):
        large = InstanceTypeFactory(id="large", vcpus=8)
        Account.objects.filter(pk=world.account.pk).update(trust_level="new", quotas={"vcpus": 5})
        page = browser.get(PAGE, {"type": large.pk}).content.decode()
        assert disabled(page, "type-large")
        assert not disabled(page, f"type-{world.type.pk}")
        assert RESOURCE_QUOTAS["vcpus"].reason(5, 0, 8) in unescape(page)

    def test_a_reason_of_all_types_is_shown_once(self, world, browser):
        InstanceTypeFactory(id="large")
        world.create()
        Account.objects.filter(pk=world.account.pk).update(trust_level="new", quotas={"instances": 1})
        page = browser.get(PAGE).content.decode()
        assert disabled(page, "type-large")
        assert disabled(page, f"type-{world.type.pk}")
        assert unescape(page).count(text_on_page(RESOURCE_QUOTAS["instances"].reason(1, 1, 1))) == 1
        page = browser.post(PAGE, {"region": world.region.pk}).content.decode()
        assert "The instance was not created." in page
        assert "Type is required" not in page, "no type can be chosen"

    def test_regions_have_the_names_of_their_countries(self, world, browser):
        RegionFactory(id="far", country="zz")
        page = browser.get(PAGE).content.decode()
        assert "United States" in page
        assert '<span class="choice-name">ZZ</span>' in page

    def test_images_of_the_account_and_older_versions_have_groups(self, world, browser):
        ImageFactory(label="Test 12", vendor="Test")
        ImageFactory(label="Test 9", vendor="Test", deprecated=True)
        ImageFactory(id="private/1", number=1, account=world.account, is_public=False, label="My own")
        page = browser.get(PAGE, {"image": "private/1"}).content.decode()
        shown = re.findall(r'class="(?:choice|group)-name">([^<]*)<', page)
        wanted = [
            "Your images",
            "My own",
            "Test 12",
            "Other versions, and no image",
            "Test 11",
            "Test 9",
            "No image",
        ]
        assert [name for name in shown if name in wanted] == wanted

    def test_scripts_that_do_not_support_the_image_are_disabled(self, world, browser):
        script = StackScriptFactory(account=world.account, label="Mine", images=["compute/other"])
        StackScriptFactory(is_public=True, label="Theirs")
        StackScriptFactory(label="Hidden")
        page = browser.get(PAGE).content.decode()
        assert f'value="{script.pk}" disabled>Mine: The script does not support this image.' in page
        assert ">Theirs</option>" in page
        assert "Hidden" not in page

    def test_a_platform_without_anything_shows_the_page(self, owner):
        page = signed_in(owner).get(PAGE).content.decode()
        assert "The platform has no regions yet." in page
        assert "Choose a type to see the price." in page


class TestParts:
    def parts(self, browser: Client, fields: dict, part: str) -> str:
        answer = browser.post(f"{PAGE}/choice", fields, headers={"HX-Request": "true", "HX-Trigger": part})
        assert answer.status_code == 200
        return answer.content.decode()

    def ids(self, page: str) -> set[str]:
        return set(re.findall(r'id="(summary|request|offers|options|script|script-fields)"', page))

    def test_a_choice_sends_the_parts_that_depend_on_it(self, world, browser, fields):
        StackScriptFactory(account=world.account)
        assert self.ids(self.parts(browser, fields, "create")) == {"summary", "request"}
        assert self.ids(self.parts(browser, fields, "offers")) == {
            "summary",
            "request",
            "offers",
            "options",
            "script",
        }
        assert self.ids(self.parts(browser, fields, "script")) == {"summary", "request", "script-fields"}
        assert not Instance.objects.exists()

    def test_the_price_includes_backups(self, world, browser, fields):
        world.type.backup_price_hourly = 0.004
        world.type.save()
        assert "<strong>$5</strong>" in self.parts(browser, fields, "create")
        page = self.parts(browser, {**fields, "backups_enabled": "on"}, "create")
        assert "<strong>$7.50</strong>" in page
        assert "$0.014 an hour" in page

    def test_a_choice_that_is_unavailable_now_is_not_replaced(self, browser, fields):
        RegionFactory(id="other")
        HostFactory(region_id="other", memory=1024)
        InstanceTypeFactory(id="small", memory=512)
        page = self.parts(browser, {**fields, "region": "other"}, "offers")
        assert checked(page, "region") == ["other"]
        assert checked(page, "type") == []
        assert "Choose a type to see the price." in page

    def test_the_fields_of_the_chosen_script_begin_with_their_defaults(self, world, browser, fields):
        script = StackScriptFactory(account=world.account, script=SCRIPT, description="Does it all.")
        chosen = {**fields, "stackscript_id": script.pk}
        page = self.parts(browser, chosen, "script")
        assert "Does it all." in page
        assert 'value="welcome"' in page
        assert checked(page, "stackscript_data.parts") == ["a", "b"]
        page = self.parts(browser, {**chosen, "script_shown": script.pk}, "script")
        assert 'value="welcome"' not in page
        assert checked(page, "stackscript_data.parts") == []

    def test_no_part_contains_a_password(self, world, browser, fields):
        script = StackScriptFactory(account=world.account, script=SCRIPT)
        secret = {"stackscript_id": script.pk, "script_shown": script.pk, "stackscript_data.db_password": "geheim"}
        for part in ("create", "offers", "script"):
            page = self.parts(browser, {**fields, **secret}, part)
            assert STRONG not in page
            assert "geheim" not in page

    def test_a_browser_without_scripts_asks_for_the_whole_page(self, world, browser, fields):
        script = StackScriptFactory(account=world.account, script=SCRIPT)
        answer = browser.post(PAGE, {**fields, "stackscript_id": script.pk, "label": "-web", "update": "script"})
        page = answer.content.decode()
        assert "Message of the day" in page
        assert 'value="-web"' in page
        assert "errorlist" not in page
        assert not Instance.objects.exists()

    @pytest.mark.parametrize(
        ("password", "expected"),
        [
            ("", ""),
            ("short", "Length must be 7-128 characters"),
            ("password1", WEAK),
            (STRONG, "Strength: strong"),
        ],
    )
    def test_the_strength_of_a_password_is_shown(self, browser, password, expected):
        answer = browser.post(f"{PAGE}/strength", {"root_pass": password})
        page = answer.content.decode()
        assert (expected in page) if expected else not page.strip()
        assert password == "" or password not in page
        assert careful(browser).post(f"{PAGE}/strength", {"root_pass": password}).status_code == 403


class TestRequest:
    def test_the_command_makes_the_request_of_the_form(self, world, browser, user, fields, client_for):
        script = StackScriptFactory(account=world.account, script=SCRIPT)
        more = {
            "label": "web-1", "tags": "it's $HOME, `x`", "stackscript_id": script.pk, "script_shown": script.pk,
            "stackscript_data.motd": "$ROOT_PASS", "stackscript_data.role": "web",
            "stackscript_data.parts": ["c"], "stackscript_data.db_password": "geheim", "booted": "",
        }  # fmt: skip
        page = browser.post(PAGE, {**fields, **more, "update": "page"}).content.decode()
        body = body_of_curl(page)
        assert body == {
            "region": world.region.pk, "image": world.image.pk, "type": world.type.pk, "label": "web-1",
            "tags": ["it's $HOME", "`x`"], "root_pass": "$ROOT_PASS", "booted": False, "stackscript_id": script.pk,
            "stackscript_data": {
                "motd": "$ROOT_PASS", "role": "web", "parts": "c", "db_password": "$DB_PASSWORD",
            },
        }  # fmt: skip
        assert STRONG not in page
        assert "geheim" not in page

    def test_the_api_takes_the_body_of_the_first_page(self, browser, user, client_for):
        body = body_of_curl(browser.get(PAGE).content.decode())
        made = client_for(user).post("/v4/compute/instances", {**body, "root_pass": STRONG})
        assert made.status_code == 200, made.content


def test_the_number_of_queries_is_fixed(world, browser, user, fields, django_assert_num_queries):
    for number in range(2):
        with django_assert_num_queries(12):
            browser.post(f"{PAGE}/choice", fields, headers={"HX-Trigger": "offers"})
        world.create()
        SSHKey.objects.create(user=user, label="laptop", ssh_key=KEY)
        for _ in range(3):
            StackScriptFactory(account=world.account)
            StackScriptFactory(is_public=True)
            FirewallFactory(account=world.account)
            ImageFactory()
        RegionFactory(id=f"more{number}")
        InstanceTypeFactory(id=f"more{number}")


class TestFromABackup:
    @pytest.fixture
    def source(self, world) -> Instance:
        return world.offline(label="web-1", backups_enabled=True)

    @pytest.fixture
    def backup(self, source) -> Backup:
        return backup_of(source)

    def test_the_link_leads_to_a_page_with_the_choices_made(self, world, browser, source, backup):
        link = f"{PAGE}?backup={backup.pk}"
        listed = browser.get(f"/home/instances/{source.pk}/backups").content.decode()
        assert f'href="{link}">New instance from this backup</a>' in listed
        page = browser.get(link).content.decode()
        assert checked(page, "region") == [world.region.pk]
        assert checked(page, "type") == [world.type.pk]
        assert "before the upgrade" in page
        assert "web-1" in page
        assert body_of_curl(page) == {
            "region": world.region.pk, "type": world.type.pk, "backup_id": backup.pk,
        }  # fmt: skip
        for name in AS_IN_THE_BACKUP:
            assert f'name="{name}"' not in page
        assert "cannot be combined with a backup" in page

    def test_an_instance_is_created(self, world, browser, backup):
        page = browser.get(PAGE, {"backup": backup.pk}).content.decode()
        sent = {name: checked(page, name)[0] for name in ("region", "type", "booted")}
        hidden = re.search(r'name="backup_id" value="(\d+)"', page)[1]
        answer = browser.post(PAGE, {**sent, "backup_id": hidden, "label": "web-2"})
        made = Instance.objects.get(label="web-2")
        assert answer["Location"] == f"/home/instances/{made.pk}"
        assert made.status == "restoring"
        assert [disk.label for disk in made.disks.all()] == ["root"]
        assert Job.objects.get(instance=made).kind == "provision_from_backup"

    def test_other_regions_and_small_types_are_disabled_with_the_reason(self, world, browser, backup):
        RegionFactory(id="other")
        HostFactory(region_id="other")
        InstanceTypeFactory(id="small", disk=999, price_monthly=1)
        InstanceTypeFactory(id="gpu", type_class="gpu")
        page = browser.get(PAGE, {"backup": backup.pk}).content.decode()
        assert disabled(page, "region-other")
        assert disabled(page, "type-small")
        assert not disabled(page, f"type-{world.type.pk}")
        elsewhere, small = (
            "The backup can be restored in the region us-test only.",
            "The backup needs 1000 MB, and this type has 999 MB.",
        )
        assert elsewhere in page
        assert small in page
        fields = {"backup_id": backup.pk, "region": "other", "type": "small"}
        answer = browser.post(PAGE, fields)
        for reason in (elsewhere, small):
            assert reason in answer.content.decode()
        assert Instance.objects.count() == 1

    def test_a_change_shows_the_parts_again(self, world, browser, backup):
        InstanceTypeFactory(id="large", price_monthly=40)
        fields = {"backup_id": backup.pk, "region": world.region.pk, "type": "large", "booted": "on"}
        answer = browser.post(f"{PAGE}/choice", fields, headers={"HX-Request": "true", "HX-Trigger": "offers"})
        page = answer.content.decode()
        assert body_of_curl(page)["backup_id"] == backup.pk
        assert "<strong>$40</strong> a month" in page
        assert 'name="image"' not in page

    @pytest.mark.parametrize("given", ["x", "0", "-1", "9" * 20, "9" * 5000])
    def test_an_unknown_backup_is_refused(self, world, browser, given):
        assert browser.get(PAGE, {"backup": given}).status_code == 404
        answer = browser.post(PAGE, {"backup_id": given, "region": world.region.pk, "type": world.type.pk})
        assert "Backup is not valid" in answer.content.decode()
        assert not Instance.objects.exists()

    def test_a_backup_that_went_away_is_named(self, world, browser, backup):
        sent = {"backup_id": backup.pk, "region": world.region.pk, "type": world.type.pk}
        Backup.objects.update(status="running")
        page = browser.post(PAGE, sent).content.decode()
        assert "Backup is not valid" in page
        assert 'name="image"' not in page
        listed = browser.get(f"/home/instances/{backup.instance_id}/backups").content.decode()
        assert f"backup={backup.pk}" not in listed

    def test_a_backup_of_a_read_only_instance_is_refused_as_by_the_api(self, world, source, backup):
        user = GlobalGrantsFactory(user__account=world.account, add_computes=True).user
        browser = signed_in(user)
        assert browser.get(PAGE, {"backup": backup.pk}).status_code == 404
        grant = GrantFactory(user=user, entity_id=source.pk)
        assert browser.get(PAGE, {"backup": backup.pk}).status_code == 403
        sent = {"backup_id": backup.pk, "region": world.region.pk, "type": world.type.pk}
        assert "Unauthorized" in browser.post(PAGE, sent).content.decode()
        assert Instance.objects.count() == 1
        grant.permissions = "read_write"
        grant.save()
        assert browser.get(PAGE, {"backup": backup.pk}).status_code == 200
