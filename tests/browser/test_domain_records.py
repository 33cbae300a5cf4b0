"""The records of a domain in a browser: rows become forms and rows again, with and without scripts."""

import pytest
from selenium.webdriver.common.by import By

from compute.models import Domain, DomainRecord
from tests.browser.looks import check
from tests.browser.visitor import Visitor
from tests.compute.pages.domains.zones import domain_with_records

pytestmark = pytest.mark.browser


@pytest.fixture
def domain(owner) -> Domain:
    return domain_with_records(owner.account, label="example.com")


def test_records_are_edited_in_the_table(visitor: Visitor, owner, domain):
    record = DomainRecord.objects.get(type="A")
    visitor.arrive_as(owner)
    visitor.visit(f"/home/domains/{domain.pk}?order=-name")
    visitor.driver.execute_script("document.body.dataset.mark = 'kept'")
    row = f"record-{record.pk}"

    visitor.driver.find_element(By.CSS_SELECTOR, f"#{row} a").click()
    visitor.wait_for(lambda: visitor.driver.find_elements(By.ID, f"{row}-target"))
    visitor.wait_for(lambda: visitor.focused == "Name")
    check(visitor)
    visitor.type("IPv4 address", "nowhere")
    visitor.button("Save").click()
    visitor.wait_for(lambda: "must be an IPv4 address" in visitor.part(row))
    visitor.type("IPv4 address", "203.0.113.99")
    visitor.button("Save").click()
    visitor.wait_for(lambda: "203.0.113.99" in visitor.part(row))
    visitor.wait_for(lambda: visitor.focused == "Edit www A 203.0.113.99")

    visitor.driver.find_element(By.LINK_TEXT, "Add record").click()
    visitor.wait_for(lambda: "IPv4 address" in visitor.part("new-record"))
    visitor.driver.find_element(By.LINK_TEXT, "MX").click()
    visitor.wait_for(lambda: "Mail server" in visitor.part("new-record"))
    check(visitor)
    visitor.type("Mail server", "mx2.example.net")
    visitor.button("Add record").click()
    visitor.wait_for(lambda: "@ MX mx2.example.net was added." in visitor.part("new-record"))
    made = DomainRecord.objects.get(target="mx2.example.net")
    assert "priority 10" in visitor.part(f"record-{made.pk}")
    assert visitor.driver.execute_script("return document.body.dataset.mark") == "kept"

    DomainRecord.objects.filter(pk=made.pk).delete()
    with visitor.leaving():  # the record is gone, so the browser opens the table, which says so
        visitor.driver.find_element(By.CSS_SELECTOR, f"#record-{made.pk} a").click()
    assert "The record does not exist any more." in visitor.text
    visitor.disable_scripts()
    visitor.visit(f"/home/domains/{domain.pk}?order=-name")
    visitor.driver.find_element(By.CSS_SELECTOR, f"#{row} summary").click()
    visitor.press("Yes, delete")
    assert "The record www A 203.0.113.99 was deleted." in visitor.text
    assert visitor.driver.current_url.endswith("?order=-name")
