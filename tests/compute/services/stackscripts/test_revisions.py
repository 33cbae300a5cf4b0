"""The revisions of scripts, which are written with each change of the text."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.actors import Actor
from accounts.pages.base import actor_of
from compute.models import StackScript
from compute.services.stackscripts import revisions, stackscripts
from config.errors import Missing
from tests.factories import StackScriptFactory, StackScriptRevisionFactory

pytestmark = pytest.mark.django_db

GIVEN = {"label": "setup", "images": ["any/all"], "script": "#!/bin/sh\n", "rev_note": "first"}


@pytest.fixture
def actor(owner) -> Actor:
    return actor_of(owner)


@pytest.fixture
def script(actor) -> StackScript:
    return stackscripts.create(actor, GIVEN)


def kept(script: StackScript) -> list[tuple[int, str, str, str]]:
    return list(script.revisions.values_list("number", "username", "rev_note", "script"))


def test_each_text_is_a_revision(actor, script):
    assert kept(script) == [(1, actor.username, "first", "#!/bin/sh\n")]
    stackscripts.update(actor, script, {"label": "renamed"})
    stackscripts.update(actor, script, {"script": "echo 2", "rev_note": "second"})
    assert kept(script) == [(2, actor.username, "second", "echo 2"), (1, actor.username, "first", "#!/bin/sh\n")]
    assert script.revisions.first().created == script.updated


def test_a_changed_note_belongs_to_the_present_text(actor, script):
    stackscripts.update(actor, script, {"script": "echo 2"})
    stackscripts.update(actor, script, {"rev_note": "corrected"})
    assert [(number, note) for number, _, note, _ in kept(script)] == [(2, "corrected"), (1, "first")]


def test_a_change_reads_the_row_once_with_its_lock(actor, script):
    StackScript.objects.filter(pk=script.pk).update(label="renamed meanwhile")
    with CaptureQueriesContext(connection) as queries:
        stackscripts.update(actor, script, {"description": "new"})
    (read,) = [each["sql"] for each in queries if each["sql"].startswith("SELECT") and '"rev_note"' in each["sql"]]
    assert "FOR NO KEY UPDATE" in read
    assert (script.label, script.description) == ("renamed meanwhile", "new")


def test_a_deleted_script_is_missing(actor, script):
    StackScript.objects.all().delete()
    with pytest.raises(Missing):
        stackscripts.update(actor, script, {"label": "renamed"})


def test_a_refused_change_leaves_none(actor, script):
    with pytest.raises(Exception, match="public"):
        stackscripts.update(actor, script, {"script": '<ssinclude StackScriptID="999999">', "is_public": True})
    assert len(kept(script)) == 1


def test_a_text_without_a_revision_gets_one_when_it_is_replaced(actor, account):
    script = StackScriptFactory(account=account, script="before", rev_note="old")
    since = script.updated
    stackscripts.update(actor, script, {"script": "after", "rev_note": "new"})
    assert kept(script) == [(2, actor.username, "new", "after"), (1, "", "old", "before")]
    assert script.revisions.last().created == since


def test_the_latest_are_kept(actor, script):
    script.revisions.all().delete()
    for number in range(1, revisions.MAX_KEPT + 1):
        StackScriptRevisionFactory(stackscript=script, number=number, script=f"echo {number}")
    StackScript.objects.filter(pk=script.pk).update(script=f"echo {revisions.MAX_KEPT}")
    stackscripts.update(actor, script, {"script": "newest"})
    numbers = [number for number, *_ in kept(script)]
    assert numbers == list(range(revisions.MAX_KEPT + 1, 1, -1))


def test_long_texts_leave_room_for_fewer(actor, script, monkeypatch):
    monkeypatch.setattr(revisions, "MAX_CHARACTERS", 100)
    for text in ("a" * 40, "b" * 50, "c" * 60):
        stackscripts.update(actor, script, {"script": text})
    assert [text[0] for *_, text in kept(script)] == ["c"]
    stackscripts.update(actor, script, {"script": "d" * 200})
    assert [text[0] for *_, text in kept(script)] == ["d"], "the present text is always kept"


def test_deleting_a_script_deletes_them(actor, script):
    stackscripts.delete(actor, script)
    assert not script.revisions.exists()
