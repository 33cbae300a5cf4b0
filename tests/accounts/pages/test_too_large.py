"""Forms that are larger than the server reads: their pages come back with the limit."""

import asyncio
from types import SimpleNamespace

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client

from config.server.application import Application
from config.web.handler import Handler
from tests.config.server.exchanges import Exchange, Headers
from tests.factories import OAuthClientFactory, TicketFactory

pytestmark = pytest.mark.django_db
SIZE = 6 * 1024**2
"""The bytes of a file, which are more than the bytes that the server reads of a form."""
HTML = "text/html,application/xhtml+xml,*/*;q=0.8"


def upload(browser: Client, path: str, accept: str = HTML) -> tuple[int, str]:
    """Send a file through the server, as a browser does. Return the status and the text of the page."""
    for signal in (request_started, request_finished):
        # Django's test client reconnects it after each of its requests, and it would close the test's connection
        signal.disconnect(close_old_connections)
    cookies = "; ".join(f"{name}={cookie.value}" for name, cookie in browser.cookies.items())
    piece = b"x" * 65_536
    begin = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
    exchange = Exchange([begin, *[piece] * (SIZE // len(piece)), b"\r\n--b--\r\n"])
    length = sum(map(len, exchange.pieces))
    headers = Headers(
        ("host", "testserver"), ("accept", accept), ("cookie", cookies),
        ("content-type", "multipart/form-data; boundary=b"), ("content-length", str(length)),
    )  # fmt: skip
    scope = SimpleNamespace(
        proto="http", http_version="1.1", method="POST", scheme="http", path=path, query_string="", authority=None,
        client="192.0.2.7:5000", server="127.0.0.1:8000", headers=headers,
    )  # fmt: skip

    async def served() -> None:
        application = Application(Handler(), SIZE - 1)
        application.__rsgi_init__(asyncio.get_running_loop())
        await application.__rsgi__(scope, exchange)

    asyncio.run(served())
    assert exchange.taken == length, "the browser reads the answer when it has sent all"
    assert exchange.answer is not None
    return exchange.answer[0], exchange.answer[2].decode()


def test_the_form_of_a_ticket_comes_back_with_the_limit(browser: Client, account):
    ticket = TicketFactory(account=account)
    status, page = upload(browser, f"/home/tickets/{ticket.pk}/files/new")
    assert status == 413
    assert "The file is too large. It must be at most 5 MB." in page
    assert '<input type="file" name="file"' in page
    assert not ticket.attachments.exists()


def test_the_form_of_a_picture_comes_back_with_its_own_limit(browser: Client, account):
    app = OAuthClientFactory(account=account)
    status, page = upload(browser, f"/home/apps/{app.pk}/picture")
    assert status == 413
    assert "The file is too large. It must be at most 1 MB." in page


def test_a_form_without_a_file_says_that_its_texts_are_too_long(browser: Client):
    status, page = upload(browser, "/home/tickets/new")
    assert status == 413
    assert "The texts of the form are too long. They must be at most 2.5 MB together." in page


def test_a_page_that_nobody_may_see_stays_unseen():
    anonymous = Client()
    anonymous.get("/login")  # sets the cookie of the form's token
    assert upload(anonymous, "/home/tickets/new")[0] == 302


def test_other_pages_answer_with_a_page_that_leads_back(browser: Client):
    status, page = upload(browser, "/login")
    assert status == 413
    assert "The texts of the form are too long. They must be at most 2.5 MB together." in page
    assert '<a href="/login">' in page


def test_programs_get_the_answer_of_the_api(browser: Client):
    assert upload(browser, "/home/tickets/new", "application/json")[0] == 400
    status, body = upload(browser, "/v4/support/tickets/1/attachments")
    assert (status, "Invalid Token" in body) == (401, True)
