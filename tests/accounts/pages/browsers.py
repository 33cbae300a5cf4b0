"""What tests of the pages do with browsers over and over."""

import re
import time
from html import unescape

from django.contrib.sessions.models import Session
from django.test import Client

from accounts.models import User
from accounts.pages.session_store import SessionStore
from tests.accounts.signing_in import PASSWORD

BACKEND = "accounts.pages.sessions.Backend"
has_inline = re.compile(rb'<script(?![^>]* src=)|<style|\sstyle="|\son\w+="').search
"""Whether a page has a script or a style of its own, which its policy would refuse."""


def sign_in(name: str, user: User | None = None, **fields: str) -> Client:
    """A new browser in which the user of that name has just signed in; `user` is given the password first."""
    if user is not None:
        user.set_password(PASSWORD)
        user.save(update_fields=["password"])
    browser = Client()
    answer = browser.post("/login", {"username": name, "password": PASSWORD, **fields})
    assert answer.status_code == 302, answer.content
    return browser


def careful(browser: Client) -> Client:
    """The same browser before a server that wants a token in every form."""
    again = Client(enforce_csrf_checks=True)
    again.cookies = browser.cookies
    return again


def signed_in_ago(browser: Client, seconds: int) -> None:
    """Let the session be that old."""
    session = browser.session
    session["confirmed"] = time.time() - seconds
    session.save()


def problems(answer, field: str) -> str:
    """What the page says at a field, as it is tied to it for those who cannot see."""
    page = answer.content.decode()
    found = re.search(rf'<ul class="errorlist"[^>]* id="id_{field}_error">(.*?)</ul>', page, re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", found[1])).split()) if found else ""


def kept_in_sessions() -> str:
    """All that the session store holds, readable."""
    return " ".join(str(SessionStore().decode(session.session_data)) for session in Session.objects.all())
