"""A person in front of a browser, who knows of a page what is to be seen: labels, the words on buttons, links."""

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
from accounts.pages.staff import MARK
from accounts.services import second_factor
from tests.compute.at_consoles import signed_in
from tests.compute.pages.visiting import confirmed
from tests.ports import free_port

SECONDS = 180
"""How long a page may take. No test is decided by it but one that fails."""
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
LOOK = "return [innerWidth, matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light']"
DESKTOP, PHONE = 1280, 320
"""Widths of windows, in CSS pixels. 320 is what WCAG 1.4.10 asks for."""


def missing() -> list[str]:
    """The programs that a browser needs and this machine lacks."""
    return [program for program in PROGRAMS if shutil.which(program) is None]


def start(profile: Path) -> webdriver.Chrome:
    """A headless browser with an empty profile."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # no helpful question whether to keep a password, which would stand before the page
    options.add_experimental_option("prefs", {"credentials_enable_service": False})
    service = Service(executable_path=shutil.which("chromedriver"), port=free_port())
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_script_timeout(SECONDS)
    return driver


class Visitor:
    """Fields are named by their label, buttons and links by their words, paths are those of the site."""

    def __init__(self, driver: webdriver.Chrome, url: str):
        self.driver, self.url = driver, url

    def forget_everything(self) -> None:
        """As if the browser were new: no cookies, nothing emulated, an empty page."""
        self.driver.get("about:blank")
        self.command("Network.clearBrowserCookies")
        self.command("Emulation.setScriptExecutionDisabled", value=False)
        self.look(DESKTOP, dark=False)
        self.driver.get_log("browser")

    def command(self, name: str, /, **parameters: object) -> dict:
        return self.driver.execute_cdp_cmd(name, parameters)

    def look(self, width: int, *, dark: bool) -> None:
        """Have a window of `width` CSS pixels, on a system that is light or dark, where nothing is to move: colours
        that fade into each other are those of neither look."""
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command(
            "Emulation.setEmulatedMedia", features=[scheme, {"name": "prefers-reduced-motion", "value": "reduce"}]
        )
        WebDriverWait(self.driver, SECONDS, 0.02).until(
            lambda driver: driver.execute_script(LOOK) == [width, scheme["value"]]
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
        """Choose what is called so of a list."""
        Select(self.field(label)).select_by_visible_text(words)

    def tick(self, label: str) -> None:
        self.field(label).click()

    def press(self, words: str) -> None:
        """Press a button, and wait for the page it leads to."""
        with self.leaving():
            self.button(words).click()

    def follow(self, words: str) -> None:
        """Follow a link, and wait for the page it leads to."""
        with self.leaving():
            self.driver.find_element(By.LINK_TEXT, words).click()

    def back(self) -> None:
        """Go back to the page before, and wait for it."""
        with self.leaving():
            self.driver.back()

    def open(self, words: str) -> None:
        """Open what is folded up under `words`."""
        self._one(f"//summary[normalize-space()={quoted(words)}]").click()

    def keys(self, *keys: str) -> None:
        """Type where the focus is, Tab and Enter too."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def enter(self) -> None:
        """Press the Enter key, and wait for the page it leads to."""
        with self.leaving():
            self.keys(Keys.ENTER)

    @contextmanager
    def leaving(self):
        """Wait at the end until the page of the beginning has gone and the next one is there.

        Pages are told apart by when they began: of an element that goes in this moment, chromedriver says now that
        it is stale, now that its node is in no document, and those errors are no news while a page changes.
        """
        before = self.driver.execute_script("return performance.timeOrigin")
        yield
        WebDriverWait(self.driver, SECONDS, 0.02, ignored_exceptions=[WebDriverException]).until(
            lambda driver: driver.execute_script(BEGAN) not in (before, None)
        )

    def wait_for(self, condition: Callable[[], object]) -> None:
        """Wait until `condition` holds of the page, where a script changes it."""
        WebDriverWait(self.driver, SECONDS, 0.02).until(lambda driver: condition())

    # --- Seeing ---------------------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """Where the browser is, without the query."""
        return urlsplit(self.driver.current_url).path

    @property
    def heading(self) -> str:
        return self.driver.find_element(By.TAG_NAME, "h1").text

    @property
    def text(self) -> str:
        """All that is to be read on the page."""
        return self.driver.find_element(By.TAG_NAME, "body").text

    def words_of(self, name: str) -> str:
        """What is to be read in the element of that id, where pages show what is to be copied."""
        return self.driver.find_element(By.ID, name).text

    def part(self, name: str) -> str:
        """What is to be read in the element of that id, in one line. A script may replace it at any moment."""
        text = self.driver.execute_script("return document.getElementById(arguments[0]).innerText", name)
        return " ".join(text.split())

    @property
    def problem(self) -> str:
        """What is announced as wrong; empty where nothing is."""
        alerts = self.driver.find_elements(By.CSS_SELECTOR, "[role=alert]")
        return " ".join(found.text for found in alerts if found.is_displayed())

    @property
    def focused(self) -> str:
        """The label or the words of what the keyboard acts on."""
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
        """What the browser's console says against the pages since it was last asked: errors, broken policies.

        Answers 4xx are there too, which tests expect: they look at the page themselves.
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
        """On the sign-in page, which has to be open; without `password`, with the right one."""
        self.type("Username", username)
        self.type("Password", password or PASSWORD)
        if remember:
            self.tick("Remember this browser for 30 days")
        self.press("Sign in")

    def sign_out(self) -> None:
        """In the menu of the user, on a page of the frame."""
        self.driver.find_element(By.CSS_SELECTOR, ".user-menu > summary").click()
        self.press("Sign out")


PASSWORD = "correct-horse-7-battery"
"""Of everybody in these tests."""


def quoted(text: str) -> str:
    """A literal of XPath, which knows no escapes."""
    assert '"' not in text
    return f'"{text}"'
