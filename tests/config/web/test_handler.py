"""Requests as the server passes them on, before Django has processed them."""

import io
from typing import Any

import pytest

from accounts.models import PersonalToken, Preferences, Ticket
from accounts.services.tokens import create_token
from config.api.parsers import MAX_VALUES
from tests.client import File
from tests.factories import TicketFactory
from tests.handling import call

CHARSETS = ["base64", "undefined", "rot13", "idna", "utf-16", "none"]
HEADERS = [*(f"charset={name}" for name in CHARSETS), "x*=undefined''a", "x*=none''a", "charset*=base64''a", 'x="']


@pytest.fixture
def token(owner) -> str:
    return create_token(owner, "café")[1]


@pytest.fixture
def ticket(account, settings, tmp_path) -> Ticket:
    settings.ATTACHMENTS_DIR = tmp_path
    return TicketFactory(account=account)


@pytest.mark.parametrize("header", HEADERS)
def test_addresses_are_utf8_for_every_type_of_body(token, header):
    answer = call("GET", "/v4/profile/tokens?label=caf%C3%A9", b"", f"application/json; {header}", token)
    assert answer.status == 200, answer.body
    assert [each["label"] for each in answer.json()["data"]] == ["café"]


@pytest.mark.parametrize("header", HEADERS)
def test_bodies_are_utf8_too(token, header):
    body = '{"company": "Café"}'.encode()
    answer = call("PUT", "/v4/account", body, f"Application/JSON; {header}", token)
    assert answer.json()["company"] == "Café"


LENGTHLESS = [{"HTTP_TRANSFER_ENCODING": "chunked"}, {"SERVER_PROTOCOL": "HTTP/2"}]


@pytest.mark.parametrize("protocol", LENGTHLESS, ids=str)
def test_json_without_its_length_is_taken_once_it_is_read_whole(token, owner, protocol):
    no_length = {**protocol, "CONTENT_LENGTH": None}
    answer = call("PUT", "/v4/profile/preferences", b'{"new": 2}', "application/json", token, **no_length)
    assert (answer.status, answer.json()) == (200, {"new": 2})
    answer = call("PUT", "/v4/account", b'{"company": "In chunks"}', "", token, **no_length)
    assert answer.json()["company"] == "In chunks"


@pytest.mark.parametrize(
    ("body", "media_type", "protocol", "status"),
    [
        (b'{"new": ', "application/json", LENGTHLESS[0], 400),
        (b'{"new": ', "application/json", LENGTHLESS[1], 400),
        (b"", "application/json", LENGTHLESS[0], 411),
        (b"a=1", "application/x-www-form-urlencoded", LENGTHLESS[0], 411),
        (b"a=1", "application/x-www-form-urlencoded", LENGTHLESS[1], 411),
        (b" " * 3_000_000, "application/json", LENGTHLESS[0], 400),
    ],
    ids=["half", "half in HTTP/2", "none", "form", "form in HTTP/2", "endless"],
)
def test_a_body_whose_end_nobody_knows_is_refused_and_changes_nothing(
    token, owner, body, media_type, protocol, status
):
    Preferences.objects.create(user=owner, body='{"kept": 1}')
    answer = call("PUT", "/v4/profile/preferences", body, media_type, token, **protocol, CONTENT_LENGTH=None)
    assert answer.status == status
    assert [error["field"] for error in answer.json()["errors"]] == [None]
    assert Preferences.objects.get().body == '{"kept": 1}'


@pytest.mark.parametrize("protocol", [{"SERVER_PROTOCOL": "HTTP/1.1"}, {"SERVER_PROTOCOL": "HTTP/2"}], ids=str)
def test_no_body_needs_no_length(token, protocol):
    answer = call("POST", "/v4/profile/tfa-disable", b"", "", token, CONTENT_LENGTH=None, **protocol)
    assert answer.status == 200, answer.body


@pytest.mark.parametrize("charset", CHARSETS)
@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/introspect", "/oauth/revoke", "/login"])
def test_forms_are_utf8_too(db, path, charset):
    form = File.form("a.txt", b"x")
    answer = call("POST", path, form.content, f"{form.media_type}; charset={charset}")
    assert answer.status in (400, 401, 403), answer.body


@pytest.mark.parametrize("charset", CHARSETS)
def test_files_of_forms_have_names_in_utf8(token, ticket, charset):
    form = File.form("größe.txt", b"x")
    path = f"/v4/support/tickets/{ticket.pk}"
    answer = call("POST", f"{path}/attachments", form.content, f"{form.media_type}; charset={charset}", token)
    assert answer.json() == {}
    assert call("GET", path, b"", "", token).json()["attachments"] == ["größe.txt"]


def test_a_form_whose_type_nobody_can_read_is_refused(token, ticket):
    form = File.form("a.txt", b"x")
    path = f"/v4/support/tickets/{ticket.pk}/attachments"
    answer = call("POST", path, form.content, f"{form.media_type}; x*=undefined''a", token)
    assert answer.status == 400
    assert answer.json()["errors"] == [{"field": None, "reason": "The form could not be read."}]


@pytest.mark.django_db
@pytest.mark.parametrize("came", [b"", b'{"label": ', b'{"label": "cut"}'])
def test_a_body_that_was_cut_off_changes_nothing(owner, token, came):
    before = PersonalToken.objects.count()
    answer = call("POST", "/v4/profile/tokens", came, "application/json", token, CONTENT_LENGTH="40")
    assert (answer.status, answer.json()["errors"]) == (
        400,
        [{"field": None, "reason": "The request could not be read"}],
    )
    assert PersonalToken.objects.count() == before


class Unread(io.BytesIO):
    """A body that must not be read."""

    def read(self, size: int | None = -1) -> bytes:
        raise AssertionError("read")


@pytest.mark.django_db
def test_a_body_that_is_too_large_is_refused_unread(token, settings):
    most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    body = b'{"a": "' + b"x" * (most - 9) + b'"}'
    assert len(body) == most
    assert call("PUT", "/v4/profile", body, "application/json", token).status == 200
    large: dict[str, Any] = {"CONTENT_LENGTH": str(most + 1), "wsgi.input": Unread()}
    answer = call("PUT", "/v4/profile", b"", "application/json", token, **large)
    assert (answer.status, answer.json()["errors"]) == (400, [{"field": None, "reason": "The body is too large"}])


@pytest.mark.django_db
def test_a_body_of_too_many_values_is_refused_unparsed(token):
    body = b'{"a": [0' + b",0" * (MAX_VALUES - 2) + b"]}"
    assert call("PUT", "/v4/profile", body, "application/json", token).status == 200
    answer = call("PUT", "/v4/profile", body.replace(b"]}", b",]}"), "application/json", token)  # and no valid JSON
    assert (answer.status, answer.json()["errors"]) == (400, [{"field": None, "reason": "The body is too large"}])
