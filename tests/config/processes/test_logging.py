"""Lines of the log."""

import logging
from typing import Any

import pytest

from config.pages.middleware import Csrf
from tests.handling import call

FORM, FILES = "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"
FILE = b'--x\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\nz\r\n'
MANY = "a=1&" * 1500
PAGES = [
    "/v4/regions",
    "/v4/account",
    "/login",
    "/password/forgotten",
    "/oauth/token",
    "/admin/login/",
    "/docs",
    "/",
]
MALFORMED: dict[str, dict[str, Any]] = {
    "unknown host": {"HTTP_HOST": "evil.example"},
    "no host": {"HTTP_HOST": ""},
    "broken host": {"HTTP_HOST": "[::1"},
    "host with NUL": {"HTTP_HOST": "testserver\x00"},
    "many parameters": {"QUERY_STRING": MANY},
    "undecodable parameters": {"QUERY_STRING": "a=%ff&%00=%00&next=//evil.example"},
    "cookies": {"HTTP_COOKIE": "sessionid=\xff; csrftoken=\x00; =; messages=zzz"},
    "origin": {"HTTP_ORIGIN": "http://["},
    "referer": {"HTTP_REFERER": "http://[", "wsgi.url_scheme": "https"},
    "token": {"HTTP_AUTHORIZATION": "Bearer \xff"},
    "client": {"HTTP_AUTHORIZATION": "Basic \xff\xff"},
    "filter": {"HTTP_X_FILTER": "\xff["},
    "accept": {"HTTP_ACCEPT": "text/html;charset*=base64''a"},
}
BODIES = {
    "many fields": (MANY.encode(), FORM),
    "many files": (FILE * 150 + b"--x--", FILES),
    "large": (b"a" * 3_000_000, FORM),
    "undecodable": (b"%ff=%ff&\xff=\x00", FORM),
    "NUL": (b"username=%00&password=%00&email=%00", FORM),
    "no parts": (b"--x\r\nzz", FILES),
    "no boundary": (b"zz", "multipart/form-data"),
    "bad base64": (FILE.replace(b"\r\n\r\n", b"\r\nContent-Transfer-Encoding: base64\r\n\r\n!") + b"--x--", FILES),
    "other type": (b"{", "text/\xff; charset=zzz"),
}


@pytest.fixture
def failures(caplog, settings):
    """Return a function that returns the lines that would raise an alarm, or have a traceback."""
    settings.ALLOWED_HOSTS = ["testserver"]

    def found() -> list[str]:
        return [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR or each.exc_info]

    return found


@pytest.mark.django_db
@pytest.mark.parametrize("headers", MALFORMED.values(), ids=MALFORMED)
def test_a_stranger_causes_no_error_by_a_malformed_request(failures, headers):
    statuses = [call("GET", path, b"", "", **headers).status for path in PAGES]
    statuses += [call("POST", path, b"a=b", FORM, **headers).status for path in PAGES]
    assert max(statuses) < 500
    assert failures() == []


@pytest.mark.django_db
@pytest.mark.parametrize(("body", "content_type"), BODIES.values(), ids=BODIES)
def test_a_malformed_body_causes_no_server_error(failures, monkeypatch, body, content_type):
    # a stranger gets the cookie and the token of a form from any page
    monkeypatch.setattr(Csrf, "process_view", lambda *values: None)
    assert max(call("POST", path, body, content_type).status for path in PAGES) < 500
    assert failures() == []


def test_a_refusal_is_a_warning_with_its_reason(failures, caplog):
    assert call("GET", "/login", b"", "", HTTP_HOST="evil.example").status == 400
    (line,) = [each for each in caplog.records if each.name == "django.security.DisallowedHost"]
    assert (line.levelname, line.exc_info) == ("WARNING", None)
    assert "evil.example" in line.getMessage()
