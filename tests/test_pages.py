"""Guards over the customer's pages: each write operation of the API has a page, with the same grant.

A page names the operations that its forms take in `operations`. Nouns without pages yet have the sections of the
document in the navigation instead.
"""

from collections.abc import Iterator

import pytest

from accounts.pages.base import AccountPage
from compute.pages.base import InstancePage
from compute.pages.selections import SelectionPage
from config.api.access import ANYONE, READ_WRITE
from config.pages.navigation import NOUNS
from config.reference.reading import reference
from tests.config.api.routes import Route, routes
from tests.page_world import VIEWS

WITHOUT_PAGES = {
    "account_events_read": "Pages show events, and mark none as read.",
    "account_events_seen": "Pages show events, and mark none as seen.",
    "networking_ipv4_assign": "An older path of networking_ips_assign.",
    "networking_ipv4_share": "An older path of networking_ips_share.",
    "profile_preferences_update": "Programs store texts of their own there.",
}
"""Write operations that no page offers, each with the reason."""


PAGES = [view for _, view in VIEWS.values()]
OFFERED = {operation for page in PAGES for operation in page.operations}
ROUTES: dict[tuple[str, str], Route] = {(route.method.upper(), route.documented): route for route in routes()}


def writes() -> Iterator[tuple[str, str]]:
    """Each write operation of the document, with its section."""
    for section in reference().sections:
        for operation in section.operations:
            if operation.method != "GET":
                yield section.name, operation.id


def test_every_write_operation_has_a_page_or_a_reason():
    later = {section for noun in NOUNS.values() for section in noun.sections}
    missing = {
        operation
        for section, operation in writes()
        if section not in later and operation not in OFFERED | WITHOUT_PAGES.keys()
    }
    assert not missing


def test_no_reason_is_left_over():
    assert not WITHOUT_PAGES.keys() & OFFERED
    assert WITHOUT_PAGES.keys() <= {operation for _, operation in writes()}


def test_pages_name_operations_of_the_document():
    assert {operation for _, operation in writes()} >= OFFERED


@pytest.mark.parametrize("page", [page for page in PAGES if page.operations], ids=lambda page: page.__name__)
def test_a_page_asks_for_the_grant_of_its_operations(page):
    for operation in map(reference().operations.__getitem__, page.operations):
        grant = ROUTES[operation.method, operation.path].grant
        if grant == READ_WRITE:
            assert issubclass(page, (InstancePage, SelectionPage)), "It checks that the user may change it."
        elif issubclass(page, AccountPage):
            assert page.grant == ("" if grant == ANYONE else grant)
        else:
            assert grant == ANYONE, "A page of the profile changes what is the user's own."


def test_every_entry_of_the_navigation_has_a_page():
    for noun in NOUNS.values():
        assert noun.address.startswith("/home/")
