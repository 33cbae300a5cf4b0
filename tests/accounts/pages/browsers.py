"""Helpers for tests that use the pages with browsers."""

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
"""Find an inline script or style in a page. The page's content security policy refuses both."""


def sign_in(name: str, user: User | None = None, **fields: str) -> Client:
    """Return a new browser in which the user of that name has just signed in. If `user` is given, set its
    password first."""
    if user is not None:
        user.set_password(PASSWORD)
        user.save(update_fields=["password"])
    browser = Client()
    answer = browser.post("/login", {"username": name, "password": PASSWORD, **fields})
    assert answer.status_code == 302, answer.content
    return browser


def careful(browser: Client) -> Client:
    """Return the same browser, with a server that requires a CSRF token in every form."""
    again = Client(enforce_csrf_checks=True)
    again.cookies = browser.cookies
    return again


def signed_in_ago(browser: Client, seconds: int) -> None:
    """Make the session `seconds` old."""
    session = browser.session
    session["confirmed"] = time.time() - seconds
    session.save()


def problems(answer, field: str) -> str:
    """Return the errors of a field. The page links them to the field by id, for screen readers."""
    page = answer.content.decode()
    found = re.search(rf'<ul class="errorlist"[^>]* id="id_{field}_error">(.*?)</ul>', page, re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", found[1])).split()) if found else ""


def kept_in_sessions() -> str:
    """Return the decoded content of all sessions."""
    return " ".join(str(SessionStore().decode(session.session_data)) for session in Session.objects.all())
