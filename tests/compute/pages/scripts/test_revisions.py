"""The pages of a script's revisions."""

import pytest
from django.utils.timezone import now

from compute.models import StackScript, StackScriptRevision
from config.display import differences
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import text
from tests.factories import GrantFactory, StackScriptFactory, StackScriptRevisionFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def script(account) -> StackScript:
    script = StackScriptFactory(account=account, label="setup-web", script="#!/bin/sh\necho <3>\n")
    for number, note in ((1, ""), (2, "greets"), (3, "greets again")):
        StackScriptRevisionFactory(
            stackscript=script, number=number, rev_note=note, script=f"#!/bin/sh\necho <{number}>\n"
        )
    return script


@pytest.fixture
def browser(owner):
    return signed_in(owner)


def address(script: StackScript, number: int | None = None) -> str:
    return f"/home/scripts/{script.pk}/revisions{'' if number is None else f'/{number}'}"


def test_lists_them_newest_first(browser, script):
    assert address(script) in text(browser.get(f"/home/scripts/{script.pk}"))
    page = text(browser.get(address(script)))
    places = [page.index(f'href="{address(script, number)}"') for number in (3, 2, 1)]
    assert places == sorted(places)
    assert "greets again" in page
    assert "19 characters" in page


def test_shows_a_text_and_its_changes(browser, script):
    page = browser.get(address(script, 2)).content.decode()
    assert "<del>- echo &lt;1&gt;</del><ins>+ echo &lt;2&gt;</ins>" in page
    assert 'id="source">#!/bin/sh\necho &lt;2&gt;' in page
    assert all(address(script, number) in page for number in (1, 3))
    assert "the oldest revision that is kept" in text(browser.get(address(script, 1)))
    assert browser.get(address(script, 4)).status_code == 404
    assert browser.get(address(script, 10**18)).status_code == 404


def test_says_when_texts_cannot_be_compared_line_by_line(browser, script, monkeypatch):
    monkeypatch.setattr(differences, "MAX_COMPARISONS", 0)
    assert "too different to compare" in text(browser.get(address(script, 2)))
    script.revisions.filter(number=1).update(script="#!/bin/sh\r\necho <2>\r\n")
    monkeypatch.undo()
    assert "Only line ends changed." in text(browser.get(address(script, 2)))


def test_an_earlier_text_is_used_again(browser, script):
    again = f"/home/scripts/{script.pk}/edit?revision=1"
    assert again in text(browser.get(address(script, 1)))
    assert "Use this text again" not in text(browser.get(address(script, 3)))
    form = browser.get(again).context["form"]
    assert form["script"].value() == "#!/bin/sh\necho <1>\n"
    given = {
        "label": "setup-web",
        "images": "any/all",
        **{name: form[name].value() for name in ("script", "rev_note")},
    }
    browser.post(again, given)
    newest = script.revisions.first()
    assert (newest.number, newest.script, newest.rev_note) == (
        4, "#!/bin/sh\necho <1>\n", "The text of revision 1 again.",
    )  # fmt: skip
    assert browser.get(f"/home/scripts/{script.pk}/edit?revision=9").status_code == 404
    assert browser.get(f"/home/scripts/{script.pk}/edit?revision=x").status_code == 200


def test_only_the_account_sees_them(script, stranger, restricted):
    StackScript.objects.update(is_public=True)
    pages = (address(script), address(script, 1))
    assert address(script) not in text(signed_in(stranger).get(f"/home/scripts/{script.pk}"))
    assert [signed_in(stranger).get(page).status_code for page in pages] == [404, 404]
    assert [signed_in(restricted).get(page).status_code for page in pages] == [404, 404]
    assert address(script) not in text(signed_in(restricted).get(f"/home/scripts/{script.pk}"))
    StackScript.objects.update(is_public=False)
    assert [signed_in(restricted).get(page).status_code for page in pages] == [404, 404]
    GrantFactory(user=restricted, entity_type="stackscript", entity_id=script.pk)
    page = text(signed_in(restricted).get(address(script, 1)))
    assert "Use this text again" not in page


def test_a_new_name_of_the_author_is_shown(script, owner, api):
    StackScriptRevision.objects.filter(number=2).update(username=owner.username, created=now())
    StackScriptRevision.objects.filter(number=1).update(username="somebody-else")
    assert api.put(f"/v4/account/users/{owner.username}", {"username": "kari"}).status_code == 200
    names = dict(script.revisions.values_list("number", "username"))
    assert (names[1], names[2]) == ("somebody-else", "kari")
