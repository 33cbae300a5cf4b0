"""Users in browsers who open consoles."""

from django.test import Client

from accounts.models import User
from accounts.pages.session_store import hash_session_key
from compute.models import ConsoleSession, Instance
from compute.services import consoles

ORIGIN = "https://cloud.example.com"


def signed_in(user: User) -> Client:
    browser = Client()
    browser.force_login(user, "accounts.pages.sessions.Backend")
    return browser


def browser_of(client: Client, **fields) -> consoles.Browser:
    """Return the browser as the page describes it to services."""
    session = hash_session_key(client.session.session_key)
    found = {"origin": ORIGIN, "session": session, "ip": "192.0.2.7", "device": None, "by_key": False}
    return consoles.Browser(**{**found, **fields})


def user_session(user: User, instance: Instance, client: Client | None = None, **fields) -> ConsoleSession:
    """Return a session at the instance's console that has begun."""
    browser = browser_of(client or signed_in(user), **fields)
    return consoles.admit(consoles.ask(user, instance, browser, take_over=True), ORIGIN)


def staff_session(user: User, instance: Instance, **fields) -> ConsoleSession:
    ticket = consoles.ask_as_staff(user, instance, browser_of(signed_in(user)), "It hangs.", take_over=True)
    return consoles.admit(ticket, ORIGIN)
