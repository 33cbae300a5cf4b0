"""``manage.py create_token``, which scripts call."""

import io
import re
from datetime import UTC, datetime

import pytest
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.models import Event, PersonalToken, TokenLink
from tests.client import APIClient

pytestmark = pytest.mark.django_db


def create_token(*arguments: str) -> str:
    out = io.StringIO()
    call_command("create_token", *arguments, stdout=out)
    return out.getvalue()


def test_it_prints_a_working_token_alone_on_a_line(owner):
    printed = create_token("owner")
    assert re.fullmatch(r"[0-9a-f]{64}\n", printed)
    assert APIClient(printed.strip()).get("/v4/profile").json()["username"] == "owner"


def test_scopes_expiry_and_label_are_as_given(owner):
    wish = ("--scopes", "computes:read_only,images:read_write", "--expiry", "2040-01-31T12:00:00", "--label", "ci")
    create_token("owner", *wish)
    token = PersonalToken.objects.get()
    assert token.scopes == "computes:read_only images:read_write"
    assert token.expiry == datetime(2040, 1, 31, 12, tzinfo=UTC)
    assert token.label == "ci"


def test_the_account_reads_of_it(owner):
    create_token("owner", "--label", "ci")
    event = Event.objects.get()
    assert (event.account_id, event.action, event.username) == (owner.account_id, "token_create", "owner")
    assert (event.entity_type, event.entity_label) == ("token", "ci")


def test_a_link_shows_the_token_once_and_the_command_never(owner):
    printed = create_token("owner", "--link", "--label", "ci", "--reason", "New laptop").strip()
    assert printed.startswith(f"{settings.SITE_URL}/token/")
    assert not PersonalToken.objects.exists()
    path, browser = printed.removeprefix(settings.SITE_URL), Client()
    token = re.findall(r'<code id="token">([0-9a-f]{64})</code>', browser.post(path).content.decode())[0]
    assert APIClient(token).get("/v4/profile").json()["username"] == "owner"
    assert browser.post(path).status_code == 404
    assert list(Event.objects.order_by("pk").values_list("action", "message", "username")) == [
        ("profile_update", "Support made a link to a token, ci: New laptop", ""), ("token_create", "", ""),
    ]  # fmt: skip
    logged = LogEntry.objects.get().change_message
    assert logged.startswith("Made a link to a token, ci, that works until ")
    assert path.rpartition("/")[2] not in logged


def test_by_and_reason_are_only_options_of_links(owner):
    for option in (("--by", "staff"), ("--reason", "x")):
        with pytest.raises(CommandError, match=f"^{option[0][2:]}: Give it with --link"):
            create_token("owner", *option)
    with pytest.raises(CommandError, match=r"^by: There is no active staff user 'nobody'"):
        create_token("owner", "--link", "--by", "nobody")
    with pytest.raises(CommandError, match=r"^scopes: Unknown scope: x"):
        create_token("owner", "--link", "--scopes", "x")
    assert not TokenLink.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nobody"], "There is no user 'nobody'."),
        (["staff"], "has no account"),
        (["owner", "--scopes", "computes"], "Unknown scope: computes"),
        (["owner", "--scopes", " "], "At least one scope is required"),
        (["owner", "--expiry", "soon"], "is not a time"),
        (["owner", "--expiry", "2030-13-01T00:00:00"], "is not a time"),
        (["owner", "--expiry", "2001-01-01T00:00:00"], "expiry must be in the future"),
        (["owner", "--label", "x" * 101], "Length must be 1-100 characters"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_arguments_are_refused_with_a_reason_and_create_nothing(owner, staff, arguments, reason):
    with pytest.raises(CommandError, match=reason):
        create_token(*arguments)
    assert not PersonalToken.objects.exists()
