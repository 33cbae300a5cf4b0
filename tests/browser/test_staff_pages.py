"""The staff's pages, for users with weak eyes or a small screen, in dark and light."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.contrib import admin
from selenium.webdriver.common.by import By

from accounts.models import Ticket, User
from compute.models import Instance
from tests.browser.looks import AXE, RUN_AXE, WIDE
from tests.browser.second_factors import give_second_factor
from tests.browser.visitor import Visitor
from tests.config.admin.fixtures import all_at_work, driver, everything, folder, notified, running
from tests.config.admin.pages import list_address, page_address
from tests.factories import InstanceFactory, ServiceFactory, TicketFactory, UserFactory

__all__ = ["all_at_work", "driver", "everything", "folder", "notified", "running"]

pytestmark = pytest.mark.browser

WIDTHS = (1400, 420)
# Unused space at the right of the page's content, in CSS pixels.
EMPTY = """
return arguments[0] - (document.querySelector('#container #content') ?? document.body).getBoundingClientRect().right
"""
# Lists with columns that are visible only after scrolling.
CUT_OFF = """
return [...document.querySelectorAll('.results')]
    .filter(table => table.scrollWidth > table.clientWidth)
    .map(table => `${table.scrollWidth} in ${table.clientWidth}: ${table.innerText.slice(0, 120)}`)
"""
# Parts of a page on a phone that are wider than their box.
HIDDEN = """
return [...document.querySelectorAll('.panel .panel-scroll, .form-row, .results')]
    .filter(part => part.scrollWidth > part.clientWidth)
    .map(part => `${part.scrollWidth} in ${part.clientWidth}: ${part.innerText.slice(0, 120)}`)
"""


@pytest.fixture
def clerk(visitor: Visitor, staff: User) -> Visitor:
    """The visitor, signed in as staff."""
    give_second_factor(staff)
    visitor.arrive_as(staff)
    return visitor


def check(visitor: Visitor) -> None:
    """Fail if axe finds a fault, or if the page is wider than its window. The message names the fault."""
    for width in WIDTHS:
        for dark in (False, True):
            visitor.set_screen(width, dark=dark)
            visitor.driver.execute_script(AXE)
            found = visitor.driver.execute_async_script(RUN_AXE)
            where = f"at {width}, {'dark' if dark else 'light'}"
            assert not found, f"axe found {where}: {found}"
            wide = visitor.driver.execute_script(WIDE, width)
            assert not wide, f"wider than the window {where}: {wide}"
            assert visitor.driver.execute_script(EMPTY, width) < 40, f"a column of nothing {where}"
    hidden = visitor.driver.execute_script(HIDDEN)
    assert not hidden, f"cut off at {WIDTHS[-1]}: {hidden}"
    assert visitor.complaints() == []


def test_the_sign_in_of_staff(visitor: Visitor):
    visitor.visit("/admin/")
    assert visitor.path == "/login"
    check(visitor)


@dataclass(frozen=True)
class There:
    """The rows whose pages are visited."""

    instance: Instance
    ticket: Ticket


def first(visitor: Visitor, there: There) -> None:
    visitor.visit("/admin/")
    assert "Capacity of hosts" in visitor.text


def a_list(visitor: Visitor, there: There) -> None:
    visitor.visit(list_address(Instance))


def a_detail(visitor: Visitor, there: There) -> None:
    visitor.visit(page_address(there.instance))


def a_form(visitor: Visitor, there: There) -> None:
    visitor.visit(page_address(there.instance.host))


def a_long_page(visitor: Visitor, there: There) -> None:
    visitor.visit(page_address(there.instance.account))
    # a place on the same page: the page stays open
    visitor.driver.find_element(By.LINK_TEXT, "Support tickets").click()
    assert visitor.driver.current_url.endswith("#panel-support-tickets")


def a_confirmation(visitor: Visitor, there: There) -> None:
    visitor.visit(page_address(there.instance.host))
    visitor.press("Begin maintenance")
    assert "stay off until the maintenance ends" in visitor.text


def a_ticket(visitor: Visitor, there: There) -> None:
    visitor.visit(page_address(there.ticket))


def a_filtered_list(visitor: Visitor, there: There) -> None:
    visitor.visit(list_address(Instance))
    visitor.type("Id, company, email or username", str(there.instance.account_id))
    visitor.press("Filter")
    assert f"account={there.instance.account_id}" in visitor.driver.current_url
    assert there.instance.label in visitor.text


def a_form_for_a_link(visitor: Visitor, there: There) -> None:
    visitor.visit(page_address(UserFactory(account=there.instance.account, username="kari")))
    visitor.press("Make a link to a token")
    assert "See compute instances" in visitor.text


def a_link(visitor: Visitor, there: There) -> None:
    visitor.visit(page_address(UserFactory(account=there.instance.account, username="nils")))
    visitor.press("Make a link to a token")
    visitor.type("Label", "ci")
    visitor.tick("See compute instances")
    visitor.type("Reason", "New laptop")
    with visitor.leaving():
        visitor.driver.find_element(By.CSS_SELECTOR, "#content input[type=submit]").click()
    assert "/token/" in visitor.text
    assert visitor.button("Copy the value")


def test_pages_can_be_read_by_everybody(clerk: Visitor):
    instance = InstanceFactory(label="a-rather-long-label-of-some-machine-that-somebody-typed", status="running")
    there = There(instance, TicketFactory(account=instance.account))
    ServiceFactory(account=instance.account, status="problem", error="connect: refused")
    pages: list[Callable[[Visitor, There], None]] = [
        first,
        a_list,
        a_detail,
        a_form,
        a_long_page,
        a_confirmation,
        a_ticket,
        a_filtered_list,
        a_form_for_a_link,
        a_link,
    ]
    for page in pages:
        clerk.set_screen(WIDTHS[0], dark=False)
        page(clerk, there)
        check(clerk)


def test_no_list_cuts_columns_off(clerk: Visitor, everything: Instance):
    cut_off = {}
    for model in admin.site._registry:
        clerk.set_screen(WIDTHS[0], dark=False)
        clerk.visit(list_address(model))
        if found := clerk.driver.execute_script(CUT_OFF):
            cut_off[model._meta.model_name] = found
        clerk.set_screen(WIDTHS[1], dark=False)
        assert clerk.driver.execute_script(EMPTY, WIDTHS[1]) < 40, model
        if found := clerk.driver.execute_script(HIDDEN):
            cut_off[f"{model._meta.model_name} on a phone"] = found
    assert cut_off == {}
