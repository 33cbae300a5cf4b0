"""A person at a browser, who finds things by what is visible: labels, the words on buttons, links."""

import shutil
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.test import Client
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from accounts.models import User
from accounts.pages.staff_second_factor import MARK
from accounts.services import second_factor
from tests.compute.at_consoles import signed_in
from tests.compute.pages.visiting import confirmed
from tests.ports import free_port

SECONDS = 180
"""How long a page may take, in seconds. Only a test that fails reaches it."""
PROGRAMS = ("chromium", "chromedriver")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--no-proxy-server",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
BEGAN = "return document.readyState === 'complete' ? performance.timeOrigin : null"
# One request to the browser. The driver would take one for each element, with a long script of its own.
FIND = """
const found = document.evaluate(arguments[0], document, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE, null)
return Array.from({length: found.snapshotLength}, (_, number) => found.snapshotItem(number))
    .filter(element => element.checkVisibility({visibilityProperty: true}))
"""
READ_SCREEN = "return [innerWidth, matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light']"
DESKTOP, PHONE = 1280, 320
"""Widths of windows, in CSS pixels. 320 is what WCAG 1.4.10 asks for."""


def missing() -> list[str]:
    """The programs that a browser needs and this machine lacks."""
    return [program for program in PROGRAMS if shutil.which(program) is None]


def start(profile: Path) -> webdriver.Chrome:
    """Start a headless browser with an empty profile."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # no offer to save a password, which would cover the page
    options.add_experimental_option("prefs", {"credentials_enable_service": False})
    service = Service(executable_path=shutil.which("chromedriver"), port=free_port())
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_script_timeout(SECONDS)
    return driver


class Visitor:
    """A person at a browser. Fields are named by their label, buttons and links by their words, pages by their
    path."""

    def __init__(self, driver: webdriver.Chrome, url: str):
        self.driver, self.url = driver, url

    def forget_everything(self) -> None:
        """Reset the browser: no cookies, no emulation, an empty page."""
        self.driver.get("about:blank")
        self.command("Network.clearBrowserCookies")
        self.command("Emulation.setScriptExecutionDisabled", value=False)
        self.set_screen(DESKTOP, dark=False)
        self.driver.get_log("browser")

    def command(self, name: str, /, **parameters: object) -> dict:
        return self.driver.execute_cdp_cmd(name, parameters)

    def set_screen(self, width: int, *, dark: bool) -> None:
        """Set the width of the window in CSS pixels and a light or dark colour scheme, with reduced motion.

        Without reduced motion, colours could be in a transition, and belong to neither scheme.
        """
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command(
            "Emulation.setEmulatedMedia", features=[scheme, {"name": "prefers-reduced-motion", "value": "reduce"}]
        )
        WebDriverWait(self.driver, SECONDS, 0.02).until(
            lambda driver: driver.execute_script(READ_SCREEN) == [width, scheme["value"]]
        )

    def disable_scripts(self) -> None:
        self.command("Emulation.setScriptExecutionDisabled", value=True)

    # --- Going about ----------------------------------------------------------------------------------------

    def visit(self, path: str) -> None:
        self.driver.get(path if path.startswith("http") else self.url + path)

    def come_in(self, browser: Client, path: str) -> None:
        """Visit a page as the user who is signed in in `browser`, Django's client of the test."""
        self._take_session(browser)
        self.visit(path)

    def _take_session(self, browser: Client) -> None:
        name = settings.SESSION_COOKIE_NAME
        value = browser.cookies[name].value
        self.command("Network.setCookie", url=self.url, name=name, value=value, httpOnly=True, sameSite="Lax")

    def type(self, label: str, text: str) -> None:
        field = self.field(label)
        field.clear()
        field.send_keys(text)

    def choose(self, label: str, words: str) -> None:
        """Choose the option with these words in the list with this label."""
        Select(self.field(label)).select_by_visible_text(words)

    def tick(self, label: str) -> None:
        self.field(label).click()

    def press(self, words: str) -> None:
        """Press a button, and wait for the next page."""
        with self.leaving():
            self.button(words).click()

    def follow(self, words: str) -> None:
        """Follow a link, and wait for the next page."""
        with self.leaving():
            self.driver.find_element(By.LINK_TEXT, words).click()

    def back(self) -> None:
        """Go back to the page before, and wait for it."""
        with self.leaving():
            self.driver.back()

    def open(self, words: str) -> None:
        """Open the collapsed section with the heading `words`."""
        self._one(f"//summary[normalize-space()={quoted(words)}]").click()

    def keys(self, *keys: str) -> None:
        """Press keys at the element with the focus. Tab and Enter work too."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def enter(self) -> None:
        """Press the Enter key, and wait for the next page."""
        with self.leaving():
            self.keys(Keys.ENTER)

    @contextmanager
    def leaving(self):
        """Wait at the end of the block until the next page has replaced the present one.

        Pages are distinguished by the time at which they began. While a page changes, chromedriver reports an
        element as stale or as in no document. These errors are ignored.
        """
        before = self.driver.execute_script("return performance.timeOrigin")
        yield
        WebDriverWait(self.driver, SECONDS, 0.02, ignored_exceptions=[WebDriverException]).until(
            lambda driver: driver.execute_script(BEGAN) not in (before, None)
        )

    def wait_for(self, condition: Callable[[], object]) -> None:
        """Wait until `condition` is true, after a script changes the page."""
        WebDriverWait(self.driver, SECONDS, 0.02).until(lambda driver: condition())

    # --- Seeing ---------------------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """The address of the page, without the host and the query."""
        return urlsplit(self.driver.current_url).path

    @property
    def heading(self) -> str:
        return self.driver.find_element(By.TAG_NAME, "h1").text

    @property
    def text(self) -> str:
        """All visible text of the page."""
        return self.driver.find_element(By.TAG_NAME, "body").text

    def words_of(self, name: str) -> str:
        """Return the text of the element with this id. Pages use such elements for texts to be copied."""
        return self.driver.find_element(By.ID, name).text

    def part(self, name: str) -> str:
        """Return the text of the element with this id, in one line. A script may replace the text at any moment."""
        text = self.driver.execute_script("return document.getElementById(arguments[0]).innerText", name)
        return " ".join(text.split())

    @property
    def problem(self) -> str:
        """The text of the visible alerts. Empty if there are none."""
        alerts = self.driver.find_elements(By.CSS_SELECTOR, "[role=alert]")
        return " ".join(found.text for found in alerts if found.is_displayed())

    @property
    def focused(self) -> str:
        """The label or the words of the element that has the focus."""
        element = self.driver.switch_to.active_element
        labels = self.driver.execute_script(
            "return [...(arguments[0].labels || [])].map(l => l.innerText)", element
        )
        return " ".join(" ".join(labels or [element.text]).split())

    def button(self, words: str) -> WebElement:
        return self._one(f"//button[normalize-space()={quoted(words)}]")

    def field(self, label: str) -> WebElement:
        found = self._one(f"//label[normalize-space()={quoted(label)}]")
        return self.driver.execute_script("return arguments[0].control", found)

    def _one(self, xpath: str) -> WebElement:
        found = self.driver.execute_script(FIND, xpath)
        assert len(found) == 1, f"{len(found)} of {xpath} on {self.path}: {self.text}"
        return found[0]

    def complaints(self) -> list[str]:
        """Return the errors and policy violations in the browser's console since the last call.

        Answers 4xx are left out: tests expect some, and check the page themselves.
        """
        return [
            line["message"]
            for line in self.driver.get_log("browser")
            if line["level"] in ("SEVERE", "WARNING") and "responded with a status of 4" not in line["message"]
        ]

    # --- What tests do over and over ------------------------------------------------------------------------

    def arrive_as(self, user: User) -> None:
        """Take a session of the user, with a second factor if the user has one. Opens no page."""
        browser = confirmed(signed_in(user))
        session = browser.session
        session[MARK] = second_factor.mark(user)
        session.save()
        self._take_session(browser)

    def sign_in(self, username: str = "owner", password: str = "", *, remember: bool = False) -> None:
        """Fill in the sign-in page, which must be open. Without `password`, use the right one."""
        self.type("Username", username)
        self.type("Password", password or PASSWORD)
        if remember:
            self.tick("Remember this browser for 30 days")
        self.press("Sign in")

    def sign_out(self) -> None:
        """Sign out by the menu of the user. A page with that menu must be open."""
        self.driver.find_element(By.CSS_SELECTOR, ".user-menu > summary").click()
        self.press("Sign out")


PASSWORD = "correct-horse-7-battery"
"""The password of all users in these tests."""


def quoted(text: str) -> str:
    """Return a literal of XPath, which has no escapes."""
    assert '"' not in text
    return f'"{text}"'
