"""The admin's own scripts run under the content security policy of its pages."""

import pytest
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from accounts.models import User
from tests.browser.second_factors import give_second_factor
from tests.browser.visitor import SECONDS, Visitor

pytestmark = pytest.mark.browser


def test_a_search_field_finds_accounts(visitor: Visitor, staff: User, owner: User):
    give_second_factor(staff)
    visitor.arrive_as(staff)
    visitor.visit("/admin/accounts/user/add/")
    visitor.driver.find_element(By.CSS_SELECTOR, ".field-account .select2-selection").click()
    gone = [StaleElementReferenceException]  # the results replace the "searching" entry
    WebDriverWait(visitor.driver, SECONDS, 0.05, ignored_exceptions=gone).until(
        lambda driver: (
            str(owner.account)
            in [each.text for each in driver.find_elements(By.CSS_SELECTOR, ".select2-results__option")]
        )
    )
