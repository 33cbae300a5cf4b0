"""Guards over the customer's pages: each write operation of the API has a page, with the same grant.

A page names the operations that its forms take in `operations`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape

import pytest
from django.urls import get_resolver
from django_filters.views import FilterMixin

from accounts.pages.base import AccountPage
from accounts.pages.objects import ObjectPage
from compute.pages.networking.account_addresses.addresses import OnInstancePage
from compute.pages.selections import SelectionPage
from config.api.access import ANYONE, READ_WRITE
from config.db import prepared
from config.db.prepared import TookTooLong
from config.limits import rates
from config.pages.filtered import TOO_SLOW, FilteredPage
from config.pages.navigation import NOUNS
from config.pages.views import ServiceFormView, VerbView
from config.reference.reading import reference
from config.server.lanes import Routes
from tests.config.api.routes import Route, routes
from tests.page_world import PARAMETER, VIEWS, PageWorld

pytestmark = pytest.mark.alike

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


def writes() -> Iterator[str]:
    """Yield each write operation of the document."""
    for section in reference().sections:
        for operation in section.operations:
            if operation.method != "GET":
                yield operation.id


def test_every_write_operation_has_a_page_or_a_reason():
    missing = set(writes()) - OFFERED - WITHOUT_PAGES.keys()
    assert not missing, "name it in `operations` of a page, or in WITHOUT_PAGES with a reason"


def test_no_reason_is_left_over():
    assert not WITHOUT_PAGES.keys() & OFFERED
    assert WITHOUT_PAGES.keys() <= set(writes())


def test_pages_name_operations_of_the_document():
    assert set(writes()) >= OFFERED


@pytest.mark.parametrize("page", [page for page in PAGES if page.operations], ids=lambda page: page.__name__)
def test_a_page_asks_for_the_grant_of_its_operations(page):
    for operation in map(reference().operations.__getitem__, page.operations):
        grant = ROUTES[operation.method, operation.path].grant
        if grant == READ_WRITE:
            assert issubclass(page, (ObjectPage, OnInstancePage, SelectionPage)), (
                "It checks that the user may change it."
            )
        elif issubclass(page, AccountPage):
            assert page.grant == ("" if grant == ANYONE else grant)
        else:
            assert grant == ANYONE, "A page of the profile changes what is the user's own."


@pytest.mark.parametrize("page", [page for page in PAGES if page.operations], ids=lambda page: page.__name__)
def test_a_page_has_the_limits_and_the_lane_of_its_operations(page):
    if not issubclass(page, AccountPage) or not issubclass(page, (ServiceFormView, VerbView)):
        return
    for operation in map(reference().operations.__getitem__, page.operations):
        declared = ROUTES[operation.method, operation.path].operation
        assert page.throttle_scope == (declared.throttle_scope or "")
        assert page.expensive == declared.expensive
        assert declared.lane in (None, getattr(page, "lanes", {}).get("post"))


GRAPHS = {
    "instance-graphs": ("compute_instances_stats_retrieve", "compute_instances_stats_month"),
    "load-balancer-graphs": ("nodebalancers_stats_retrieve",),
}
"""The operations that return the values of a page's graphs, by the name of the page's URL."""


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_have_the_limit_of_the_operations_with_their_values(name):
    for operation in map(reference().operations.__getitem__, GRAPHS[name]):
        assert ROUTES[operation.method, operation.path].operation.throttle_scope == VIEWS[name][1].throttle_scope


FILTERED = {name: path for name, (path, page) in VIEWS.items() if issubclass(page, FilteredPage)}


def test_each_list_with_filters_has_the_limits_of_filters():
    lists = {name for name, (_, page) in VIEWS.items() if issubclass(page, FilterMixin)}
    assert lists
    assert lists | {"search", "user-grants-on"} == FILTERED.keys()
    for name in FILTERED:
        page = VIEWS[name][1]
        assert page.get is FilteredPage.get
        assert page.measured is AccountPage.measured


@pytest.fixture(scope="module")
def lanes() -> Routes:
    return Routes(get_resolver())


@pytest.mark.parametrize("path", FILTERED.values(), ids=FILTERED)
def test_a_filtered_list_is_in_the_lane_of_filters(lanes, path):
    address = PARAMETER.sub("7", path)
    assert lanes.lane_of("GET", address, filtered=True) == "slow"


def test_the_form_of_a_filtered_page_is_in_the_lane_of_filters(lanes):
    """If the form is refused, the page is shown again with its filter."""
    forms = {name: path for name, path in FILTERED.items() if hasattr(VIEWS[name][1], "post")}
    assert forms.keys() == {"user-grants-on"}
    for path in forms.values():
        assert lanes.lane_of("POST", PARAMETER.sub("7", path), filtered=True) == "slow"


def test_a_filter_that_takes_too_long_is_ended_with_a_reason_on_every_list(world, monkeypatch, settings):
    settings.FILTER_TIMEOUT = 7
    pages, given = PageWorld.of(world), []
    browser = pages.browser(pages.owner)

    @contextmanager
    def end(seconds: float) -> Iterator[None]:
        given.append(seconds)
        yield
        raise TookTooLong

    monkeypatch.setattr(prepared, "ending_after", end)
    for name in FILTERED:
        address = pages.address(name, pages.owner).partition("?")[0]
        for filtered in (f"{address}?q=e&label=e", f"{address}?order=created"):
            answer = browser.get(filtered)
            assert (name, answer.status_code) == (name, 400)
            assert TOO_SLOW in unescape(answer.content.decode()), name
        assert browser.get(f"{address}?page=1&label=").status_code == 200, name
    assert given == [7] * 2 * len(FILTERED)


@pytest.fixture
def _fresh_limits() -> Iterator[None]:
    """Forget the counts of this test."""
    rates.forget()
    yield
    rates.forget()


@pytest.mark.usefixtures("_fresh_limits")
def test_filters_share_the_seconds_of_expensive_calls_with_the_api(world):
    pages = PageWorld.of(world)
    browser = pages.browser(pages.owner)
    meter = rates.limits().meter
    meter.charge(f"account:{pages.owner.account_id}", meter.most)
    for name in FILTERED:
        address = pages.address(name, pages.owner).partition("?")[0]
        answer = browser.get(f"{address}?q=e&label=e")
        assert (name, answer.status_code) == (name, 429)
        assert int(answer["Retry-After"]) > 0
        assert "Too many attempts." in answer.content.decode(), name
        assert browser.get(address).status_code == 200, name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.__name__)
def test_a_page_that_takes_a_form_does_something_with_it(page):
    for base in (ServiceFormView, VerbView):
        assert not issubclass(page, base) or page.perform is not base.perform


def test_every_entry_of_the_navigation_has_a_page():
    for noun in NOUNS.values():
        assert noun.address.startswith("/home/")
