"""The pages of deployment scripts: lists, the page of a script, and its forms."""

import re

import pytest

from accounts.models import Event
from compute.models import StackScript
from compute.pages.scripts.script_forms import EVERY_OR_SINGLE, NO_INTERPRETER
from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import text
from tests.factories import (
    DiskFactory,
    GlobalGrantsFactory,
    GrantFactory,
    ImageFactory,
    StackScriptFactory,
)
from tests.page_world import SCRIPT

pytestmark = pytest.mark.django_db

LIST, PUBLIC, NEW = "/home/scripts", "/home/scripts/public", "/home/scripts/new"
FORMS = ("edit", "publish", "delete")
GIVEN = {"label": "setup", "images": "any/all", "script": "#!/bin/sh\r\necho 1\r\n"}


@pytest.fixture
def script(account) -> StackScript:
    return StackScriptFactory(account=account, label="setup-web", script=SCRIPT)


@pytest.fixture
def browser(owner):
    return signed_in(owner)


def address(script: StackScript, page: str = "") -> str:
    return f"/home/scripts/{script.pk}{'/' if page else ''}{page}"


def labels(answer) -> list[str]:
    return re.findall(r'<th scope="row"><a href="[^"]+">([^<]*)', text(answer))


def actions() -> list[tuple[str, str]]:
    return list(Event.objects.order_by("pk").values_list("action", "message"))


class TestLists:
    def test_show_the_account_s_scripts_and_the_public_ones(self, browser, script):
        StackScriptFactory(label="community", is_public=True)
        StackScriptFactory(label="theirs")
        assert labels(browser.get(LIST)) == ["setup-web"]
        assert labels(browser.get(PUBLIC)) == ["community"]
        assert labels(browser.get(f"{LIST}?label=WEB&username=own")) == ["setup-web"]
        assert labels(browser.get(f"{LIST}?label=nothing")) == []

    def test_offer_changes_of_own_scripts_only(self, browser, script):
        public = StackScriptFactory(label="community", is_public=True)
        page = text(browser.get(LIST))
        assert all(address(script, form) in page for form in FORMS)
        page = text(browser.get(PUBLIC))
        assert f"/home/instances/new?stackscript_id={public.pk}" in page
        assert not any(address(public, form) in page for form in FORMS)

    def test_an_account_without_scripts_is_led_to_create_one(self, browser):
        assert 'href="/home/scripts/new"' in text(browser.get(LIST))


class TestThePage:
    def test_shows_text_fields_counts_and_history(self, browser, script):
        DiskFactory(stackscript=script)
        page = text(browser.get(address(script)))
        shown = ('<UDF name="motd"', "Message of the day", "DB_PASSWORD", "hidden text", "one of: web, database")
        assert [words for words in shown if words not in page] == []
        assert "<dt>Disks deployed with the script</dt><dd>1</dd>" in page
        browser.post(address(script, "edit"), {**GIVEN, "rev_note": "shorter"})
        page = text(browser.get(address(script)))
        assert page.count("shorter") == 2, "the present note, and the one of the event"

    def test_a_script_for_one_image_is_deployed_with_it(self, browser, account):
        image = ImageFactory(id="compute/debian12", label="Debian 12")
        script = StackScriptFactory(account=account, images=[image.pk])
        page = text(browser.get(address(script)))
        assert "Debian 12" in page
        deploy = f"/home/instances/new?stackscript_id={script.pk}&image=compute%2Fdebian12"
        assert deploy in page
        assert f'value="{script.pk}" selected' in text(browser.get(deploy))

    def test_a_public_script_of_others_can_only_be_read_and_deployed(self, browser):
        public = StackScriptFactory(is_public=True)
        page = text(browser.get(address(public)))
        assert ">Create instance</a>" in page
        for form in FORMS:
            assert address(public, form) not in page
            assert browser.post(address(public, form)).status_code == 403

    def test_only_users_who_may_see_it_see_it(self, script, stranger, restricted):
        for user in (stranger, restricted):
            assert [signed_in(user).get(address(script, page)).status_code for page in ("", *FORMS)] == [404] * 4
        GrantFactory(user=restricted, entity_type="stackscript", entity_id=script.pk)
        page = text(signed_in(restricted).get(address(script)))
        assert ">Create instance</a>" not in page
        assert [signed_in(restricted).post(address(script, form)).status_code for form in FORMS] == [403] * 3
        assert actions() == []


class TestForms:
    def test_a_new_script_has_the_line_ends_of_unix(self, browser, account):
        page = browser.post(NEW, {**GIVEN, "description": "a\r\nb"}, follow=True)
        made = StackScript.objects.get()
        assert (made.label, made.images, made.script, made.description) == (
            "setup", ["any/all"], "#!/bin/sh\necho 1\n", "a\nb",
        )  # fmt: skip
        assert (made.account, made.is_public) == (account, False)
        assert page.redirect_chain[-1][0] == address(made)
        assert actions() == [("stackscript_create", "")]

    def test_reasons_stand_at_their_fields(self, browser):
        given = {
            "label": "a",
            "script": "#!/bin/sh\n# <UDF name='x'>\n",
            "rev_note": "x" * 513,
            "description": "a\0",
        }
        answer = browser.post(NEW, given)
        assert problems(answer, "label") == "Length must be 3-128 characters"
        assert problems(answer, "images")
        assert problems(answer, "script") == "The UDF tag on line 2 has no label."
        assert problems(answer, "rev_note")
        assert problems(answer, "description") == "Description is not valid"
        answer = browser.post(NEW, {**GIVEN, "images": "private/7"})
        assert problems(answer, "images") == "private/7 is not valid"
        ImageFactory(id="compute/debian12")
        answer = browser.post(NEW, {**GIVEN, "images": ["any/all", "compute/debian12"]})
        assert problems(answer, "images") == EVERY_OR_SINGLE
        assert not StackScript.objects.exists()

    def test_the_fields_and_problems_of_the_text_are_shown_before_it_is_saved(self, browser):
        given = {"label": "", "script": f"{SCRIPT}# <UDF label='y'>\n", "update": "1"}
        answer = browser.post(NEW, given)
        assert problems(answer, "script") == "The UDF tag on line 6 has no name."
        assert problems(answer, "label") == ""
        assert "Role of the machine" in text(answer)
        assert "at most 65535" in problems(browser.post(NEW, {"script": "x" * 65536, "update": "1"}), "script")
        assert not StackScript.objects.exists()

    def test_scripts_with_likely_mistakes_have_a_warning(self, browser):
        tag = "# <UDF name='role' label='Role' oneof='web,db' default='mail'>\n"
        default = "The default of the UDF tag on line 2 is not one of its choices."
        page = text(browser.post(NEW, {**GIVEN, "script": f"echo 1\n{tag}", "update": "1"}))
        assert NO_INTERPRETER in page
        assert default in page
        page = text(browser.post(NEW, {**GIVEN, "script": "", "update": "1"}))
        assert NO_INTERPRETER not in page
        page = text(browser.post(NEW, {**GIVEN, "script": f"echo 1\n{tag}"}, follow=True))
        assert NO_INTERPRETER in page
        assert default in page
        assert StackScript.objects.get().user_defined_fields[0].get("default") is None

    def test_a_changed_text_is_a_revision_and_other_line_ends_are_not(self, browser, script):
        StackScript.objects.update(script="#!/bin/sh\r\necho 1\r\n")
        browser.post(address(script, "edit"), {**GIVEN, "label": "renamed"})
        assert actions() == [("stackscript_update", "")]
        browser.post(address(script, "edit"), {**GIVEN, "script": "#!/bin/sh\necho 2\n", "label": "renamed"})
        assert [action for action, _ in actions()] == ["stackscript_update", "stackscript_revise"]
        script.refresh_from_db()
        assert script.script == "#!/bin/sh\necho 2\n"

    def test_images_that_are_not_offered_any_more_are_kept(self, browser, script):
        ImageFactory(id="compute/old", deprecated=True)
        StackScript.objects.update(images=["compute/old"])
        page = text(browser.get(address(script, "edit")))
        assert re.search(r'value="compute/old"[^>]*checked', page)

    def test_a_restricted_user_needs_the_grant(self, restricted, account):
        assert signed_in(restricted).get(NEW).status_code == 403
        user = GlobalGrantsFactory(user__account=account, add_stackscripts=True).user
        signed_in(user).post(NEW, GIVEN)
        assert labels(signed_in(user).get(LIST)) == ["setup"]


class TestMakingPublic:
    def test_asks_first_and_happens_once(self, browser, script):
        assert "You cannot make it private again." in text(browser.get(address(script, "publish")))
        browser.post(address(script, "publish"))
        script.refresh_from_db()
        assert script.is_public
        assert actions() == [("stackscript_publicize", "")]
        assert "The script is public already." in text(browser.get(address(script, "publish")))

    def test_needs_public_images(self, browser, account, script):
        image = ImageFactory(id="private/7", number=7, account=account, is_public=False)
        StackScript.objects.update(images=[image.pk])
        assert "A public script needs public images." in text(browser.post(address(script, "publish")))
        assert actions() == []


def test_deleting_asks_first(browser, script):
    assert "cannot be undone" in text(browser.get(address(script, "delete")))
    page = browser.post(address(script, "delete"), follow=True)
    assert "The script setup-web was deleted." in text(page)
    assert actions() == [("stackscript_delete", "")]
