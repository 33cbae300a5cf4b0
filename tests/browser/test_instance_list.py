"""The list of instances in a browser: verbs for several rows, and rows that update themselves."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

from compute.models import Instance
from tests.browser.looks import broken_words, check
from tests.factories import ConfigFactory, DiskFactory, EventFactory, InstanceFactory

pytestmark = pytest.mark.browser


@pytest.fixture
def listed(visitor, owner, account):
    """Open the list of three instances, which can be booted."""
    for label in ("web-1", "web-2", "web-3"):
        instance = InstanceFactory(account=account, label=label, tags=["web"], ipv4=["203.0.113.7"])
        ConfigFactory(instance=instance, disk=DiskFactory(instance=instance))
    visitor.arrive_as(owner)
    visitor.visit("/home/instances")
    return visitor


def choose(visitor, label: str) -> None:
    visitor.driver.find_element(By.CSS_SELECTOR, f"[aria-label='Choose {label}']").click()


def row(visitor, label: str) -> str:
    """Return the text of a row, or "" if the page has no such row. Reads it in one call, because the page
    changes."""
    find = "[...document.querySelectorAll('tbody tr')].find(row => row.cells[1].innerText.trim() === arguments[0])"
    return visitor.driver.execute_script(f"return {find}?.innerText || ''", label)


@pytest.mark.usefixtures("hurry")
def test_chosen_rows_are_booted_and_show_how_it_goes_on(listed, account):
    choose(listed, "web-1")
    choose(listed, "web-2")
    listed.press("Boot")
    assert "Booting: web-1, web-2" in listed.text
    assert "booting" in row(listed, "web-1")
    assert "offline" in row(listed, "web-3")
    choose(listed, "web-3")
    Instance.objects.filter(label="web-1").update(status="running", ipv4=["203.0.113.99"])
    listed.wait_for(lambda: "running" in row(listed, "web-1") and "203.0.113.99" in row(listed, "web-1"))
    Instance.objects.filter(label="web-2").delete()
    listed.wait_for(lambda: not row(listed, "web-2"))
    listed.press("Delete")  # the third is still chosen
    assert listed.heading == "Delete instances"
    assert "web-3" in listed.text


def test_a_filter_takes_effect_at_once_and_stays_short_in_the_address(listed):
    # and so does a form that is sent without any act of the user: the driver chooses an option by a script
    listed.driver.find_element(By.TAG_NAME, "h1").click()
    with listed.leaving():
        listed.choose("Tag", "web")
    assert listed.driver.current_url.endswith("/home/instances?tags=web")
    listed.follow("Clear")
    assert listed.driver.current_url.endswith("/home/instances")


def test_the_back_button_leads_to_the_filters_of_the_address(listed):
    def choices() -> tuple[str | None, str]:
        return listed.field("Label").get_attribute("value"), Select(listed.field("Tag")).first_selected_option.text

    # a form that is sent before the page has loaded replaces the page in the browser's history
    listed.wait_for(lambda: listed.driver.execute_script("return performance.timing.loadEventEnd") > 0)
    listed.field("Label").click()  # Chromium goes back past pages that nobody has clicked
    with listed.leaving():
        listed.choose("Tag", "web")
    listed.wait_for(lambda: listed.driver.execute_script("return performance.timing.loadEventEnd") > 0)
    listed.type("Label", "web-1")
    listed.enter()
    assert listed.driver.current_url.endswith("/home/instances?label=web-1&tags=web")
    assert choices() == ("web-1", "web")
    listed.back()
    assert listed.driver.current_url.endswith("/home/instances?tags=web")
    listed.wait_for(lambda: choices() == ("", "web"))
    listed.back()
    listed.wait_for(lambda: choices() == ("", "any"))


def test_the_pages_can_be_read_and_used(listed, account):
    Instance.objects.filter(label="web-1").update(status="booting")
    EventFactory(
        account=account, action="compute_boot", entity_type="compute", status="started", percent_complete=40,
        entity_id=Instance.objects.get(label="web-1").pk,
    )  # fmt: skip
    numbers = "&".join(f"id={pk}" for pk in Instance.objects.values_list("pk", flat=True))
    pages = ("", "?order=-created&status=offline", "?label=nothing", f"/tag?{numbers}", f"/delete?{numbers}")
    for page in pages:
        listed.visit(f"/home/instances{page}")
        check(listed)
    Instance.objects.all().delete()
    listed.visit("/home/instances")
    check(listed)


def test_labels_that_the_platform_chooses_are_not_broken(listed, account):
    InstanceFactory(
        account=account, label="compute1234", ipv4=["203.0.113.107"], tags=["production", "web-servers"],
        ipv6="2001:db8:1000:6:f03c:ffff:fe00:1001",
    )  # fmt: skip
    Instance.objects.update(status="shutting_down")
    listed.visit("/home/instances")
    assert "compute1234" in listed.text
    assert broken_words(listed, ".stack tbody th a") == []
