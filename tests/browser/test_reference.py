"""The API reference: search, light and dark, on a phone, and requests that are sent.

No page may break its policy: `visitor` checks the browser's console at the end of each test.
"""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from selenium.common.exceptions import JavascriptException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from accounts.models import Event, PersonalToken
from accounts.pages.session_store import SessionStore
from accounts.services.thumbnails import draw_due
from regions.models import Region
from tests.browser.looks import WIDE, check
from tests.browser.visitor import DESKTOP, PASSWORD, PHONE, SECONDS, Visitor
from tests.factories import PICTURE, OAuthClientFactory, StaffFactory, TicketFactory, VolumeFactory, token_of

pytestmark = [pytest.mark.usefixtures("owner"), pytest.mark.browser]

REGIONS = "/docs/operations/regions_list"
ACCOUNT = "/docs/operations/account_retrieve"
CHANGE = "/docs/operations/account_update"
CREATE = "/docs/operations/compute_instances_create"
ATTACH = "/docs/operations/volumes_attach"
READ_ONLY, FULL_ACCESS = (
    "created by this page for owner, read only",
    "created by this page for owner, with full access",
)
BACKGROUND = "return getComputedStyle(document.body).backgroundColor"
STORED = "return JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])"
LIGHT, DARK = "rgb(247, 249, 250)", "rgb(18, 24, 29)"


class Reader(Visitor):
    """A visitor of the reference, who waits for its scripts."""

    def until(self, holds, message: str = "") -> None:
        gone = [StaleElementReferenceException, JavascriptException]  # elements that the script is removing
        WebDriverWait(self.driver, SECONDS, 0.02, ignored_exceptions=gone).until(lambda _: holds(), message)

    def click(self, element: WebElement) -> None:
        """Click in the middle of the window. At the top, the header may cover the element."""
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def search(self, words: str) -> list[str]:
        """Search for words. Returns the paths of the results, once there are any."""
        field = self.driver.find_element(By.ID, "q")
        field.clear()
        field.send_keys(words)
        self.until(lambda: " of " in self.listed and self.searched == words)
        return [each.text for each in self.driver.find_elements(By.CSS_SELECTOR, ".found code:last-of-type")]

    @property
    def listed(self) -> str:
        return self.driver.find_element(By.CSS_SELECTOR, "#list [role=status]").text

    @property
    def searched(self) -> str:
        return self.driver.execute_script("return document.querySelector('#list .found').dataset.words")

    def pick(self, label: str) -> None:
        self.click(self.field(label))

    def send(self) -> None:
        """Send the form, and wait for the answer or the error."""
        self.click(self.driver.find_element(By.CSS_SELECTOR, "#try form .buttons button"))
        status = "#try-status, #try-problem"
        self.until(
            lambda: self.status.startswith("Answered") or (self.problem and "Sending" not in self.status), status
        )

    def go_by(self, link: str) -> None:
        """Click the link, and wait for its page. The address changes before the page does."""
        before = self.heading
        self.driver.find_element(By.CSS_SELECTOR, link).click()
        self.until(lambda: self.heading != before)

    @property
    def status(self) -> str:
        return self.words_of("try-status")

    @property
    def came(self) -> dict:
        """Return the body of the answer."""
        return json.loads(self.driver.find_element(By.ID, "came-body").get_attribute("textContent"))

    @property
    def headers(self) -> dict[str, str]:
        names, values = (self.driver.find_elements(By.CSS_SELECTOR, f"#came-headers {tag}") for tag in ("dt", "dd"))
        return {name.text: value.text for name, value in zip(names, values, strict=True)}

    def run_line(self, token: str = "") -> tuple[int, dict]:
        """Run the page's line for curl in a shell. Returns status and body."""
        line = self.driver.find_element(By.ID, "curl").get_attribute("textContent")
        env = {**os.environ, "TOKEN": token}
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=SECONDS, env=env)
        assert done.returncode == 0, done.stderr
        head, _, body = done.stdout.replace("\r\n", "\n").partition("\n\n")
        return int(head.split()[1]), json.loads(body)


@pytest.fixture
def reader(visitor) -> Reader:
    visitor.driver.get(f"{visitor.url}/healthz")
    visitor.driver.execute_script("localStorage.clear()")
    visitor.__class__ = Reader
    return visitor


@pytest.fixture
def signed_in(reader, owner) -> Reader:
    reader.arrive_as(owner)
    reader.visit(ACCOUNT)
    return reader


class TestFinding:
    def test_operations_are_found_by_words_wherever_they_stand(self, reader):
        reader.visit("/docs")
        assert reader.search("attach volume")[0] == "/v4/volumes/{id}/attach"
        assert "/v4/compute/instances/{id}" in reader.search("watchdog_enabled")
        assert reader.search("zzz nothing") == []
        assert reader.listed.startswith("0 of ")

    def test_without_words_all_are_listed_again(self, reader):
        reader.visit("/docs")
        reader.search("volume")
        reader.keys(Keys.BACKSPACE * len("volume"))
        reader.until(lambda: " of " not in reader.listed)
        assert len(reader.driver.find_elements(By.CSS_SELECTOR, "#list a")) > 200

    def test_by_keyboard_alone(self, reader):
        reader.visit("/docs")
        reader.keys("/")
        assert reader.focused == "Search the operations"
        reader.search("attach volume")
        reader.keys(Keys.ARROW_DOWN)
        assert "/v4/volumes/{id}/attach" in reader.focused
        reader.keys(Keys.ENTER)
        reader.until(lambda: reader.path == ATTACH and "Attach" in reader.heading)
        assert reader.focused == reader.heading

    def test_enter_leads_to_the_first(self, reader):
        reader.visit("/docs")
        reader.search("attach volume")
        reader.keys(Keys.ENTER)
        reader.until(lambda: reader.path == ATTACH)

    def test_without_scripts_too(self, reader):
        reader.disable_scripts()
        reader.visit("/docs")
        reader.type("Search the operations", "attach volume")
        reader.press("Search")
        assert "/v4/volumes/{id}/attach" in reader.text
        with reader.leaving():
            reader.driver.find_element(By.CSS_SELECTOR, "#list a").click()
        assert reader.path == ATTACH
        assert "Try it out" not in reader.text


class TestGoingAbout:
    def test_an_operation_has_an_address_of_its_own(self, reader):
        reader.visit(ATTACH)
        assert "Attach" in reader.heading
        current = reader.driver.find_element(By.CSS_SELECTOR, "#list [aria-current=page]")
        assert current.is_displayed()

    def test_back_and_forth_without_loading_anew(self, reader):
        reader.visit(REGIONS)
        reader.driver.execute_script("window.same = true")
        first = reader.heading
        reader.search("attach volume")
        reader.driver.find_element(By.CSS_SELECTOR, "#list a").click()
        reader.until(lambda: reader.heading != first)
        assert reader.driver.title == f"{reader.heading} · Skerry"
        reader.driver.back()
        reader.until(lambda: (reader.heading, reader.path) == (first, REGIONS))
        reader.driver.forward()
        reader.until(lambda: reader.path == ATTACH and reader.heading != first)
        assert reader.driver.execute_script("return window.same")

    def test_search_and_trying_out_stay_in_sight(self, reader):
        reader.set_screen(1400, dark=False)
        reader.visit(CREATE)
        reader.driver.execute_script("scrollTo(0, document.body.scrollHeight / 2)")
        reader.until(lambda: reader.driver.execute_script("return scrollY") > 1000)
        for name in ("q", "try-heading"):
            top = reader.driver.execute_script(
                f"return document.getElementById('{name}').getBoundingClientRect().top"
            )
            assert 0 < top < 900, name


class TestColours:
    def test_are_those_of_the_system_until_others_are_chosen(self, reader):
        reader.visit("/docs")
        assert reader.driver.execute_script(BACKGROUND) == LIGHT
        reader.set_screen(DESKTOP, dark=True)
        assert reader.driver.execute_script(BACKGROUND) == DARK
        reader.choose("Colours", "light")
        assert reader.driver.execute_script(BACKGROUND) == LIGHT
        reader.set_screen(DESKTOP, dark=False)
        reader.choose("Colours", "dark")
        assert reader.driver.execute_script(BACKGROUND) == DARK

    def test_are_kept(self, reader):
        reader.visit("/docs")
        reader.choose("Colours", "dark")
        reader.visit(REGIONS)
        assert reader.driver.execute_script(BACKGROUND) == DARK
        reader.choose("Colours", "as the system")
        reader.visit("/docs")
        assert reader.driver.execute_script(BACKGROUND) == LIGHT


class TestOnAPhone:
    @pytest.mark.parametrize("width", [PHONE, 420])
    @pytest.mark.parametrize("path", ["/docs", REGIONS, CREATE])
    def test_nothing_is_wider_than_it(self, reader, path, width):
        reader.set_screen(width, dark=False)
        reader.visit(path)
        assert reader.driver.execute_script(WIDE, width) == []

    def test_the_list_opens_over_the_page_and_closes(self, reader):
        reader.set_screen(420, dark=True)
        reader.visit(REGIONS)
        field = reader.driver.find_element(By.ID, "q")
        assert not field.is_displayed()
        reader.button("Search and list").click()
        assert field.is_displayed()
        reader.button("Close").click()
        assert not field.is_displayed()
        reader.button("Search and list").click()
        reader.search("attach volume")
        assert reader.driver.execute_script(WIDE, 420) == []
        reader.driver.find_element(By.CSS_SELECTOR, "#list a").click()
        reader.until(lambda: reader.path == ATTACH)
        assert not field.is_displayed()


def offered(reader: Reader) -> list[str]:
    """Return the callers that the page offers for its operation."""
    labels = reader.driver.find_elements(By.CSS_SELECTOR, ".caller label")
    return [label.text for label in labels if label.is_displayed()]


class TestTryingOut:
    def test_public_operations_need_no_token(self, reader):
        Region.objects.create(id="us-east", country="us")
        reader.visit(REGIONS)
        reader.send()
        assert reader.status == "Answered 200 OK"
        assert [each["id"] for each in reader.came["data"]] == ["us-east"]
        assert int(reader.headers["x-ratelimit-remaining"]) < int(reader.headers["x-ratelimit-limit"])
        assert "Authorization" not in reader.words_of("curl")
        assert reader.run_line() == (200, reader.came)

    def test_signed_in_the_page_makes_a_token_that_reads(self, signed_in):
        assert signed_in.field(READ_ONLY).is_selected()
        signed_in.send()
        assert (signed_in.status, signed_in.came["company"]) == ("Answered 200 OK", "Cast")
        signed_in.send()
        token = PersonalToken.objects.get()
        assert token.label == "API reference page, read only"
        assert Event.objects.get().action == "token_create"

    def test_the_token_is_kept_from_page_to_page_and_nowhere_else(self, signed_in):
        signed_in.send()
        signed_in.search("profile")
        signed_in.driver.find_element(By.CSS_SELECTOR, '#list a[href$="/profile_retrieve"]').click()
        signed_in.until(lambda: signed_in.path != ACCOUNT and "Try it out" in signed_in.text)
        assert signed_in.field(READ_ONLY).is_selected()
        signed_in.send()
        assert PersonalToken.objects.count() == 1
        prefix = PersonalToken.objects.get().prefix
        assert prefix not in signed_in.driver.execute_script(STORED)
        assert prefix not in signed_in.driver.page_source

    def test_a_token_that_may_only_read_is_not_offered_for_changes(self, signed_in):
        signed_in.visit(CHANGE)
        assert READ_ONLY not in offered(signed_in)
        assert signed_in.field(FULL_ACCESS).is_selected()
        signed_in.driver.find_element(By.ID, "try-body").clear()
        signed_in.driver.find_element(By.ID, "try-body").send_keys('{"company": "Sjø & \'co\'"}')
        signed_in.send()
        assert signed_in.came["company"] == "Sjø & 'co'"
        assert [token.scopes for token in PersonalToken.objects.all()] == ["*"]

    def test_after_a_change_reading_is_offered_the_token_that_only_reads(self, signed_in):
        signed_in.visit(CHANGE)
        signed_in.go_by('#list a[href$="/account_retrieve"]')
        assert signed_in.field(READ_ONLY).is_selected()

    def test_a_readers_own_choice_stays_where_it_is_offered(self, signed_in):
        signed_in.pick(FULL_ACCESS)
        signed_in.go_by('#list a[href$="/account_update"]')
        assert signed_in.field(FULL_ACCESS).is_selected()
        signed_in.go_by('#list a[href$="/account_retrieve"]')
        assert signed_in.field(FULL_ACCESS).is_selected()

    def test_without_a_token_only_public_operations_can_be_sent(self, reader):
        reader.visit(ACCOUNT)
        assert reader.field("pasted by me").is_selected()
        assert "none" not in offered(reader)
        reader.visit(REGIONS)
        assert reader.field("none").is_selected()

    def test_the_line_for_curl_does_the_same(self, signed_in, owner):
        signed_in.visit(CHANGE)
        signed_in.pick(FULL_ACCESS)
        signed_in.driver.find_element(By.ID, "try-body").clear()
        signed_in.driver.find_element(By.ID, "try-body").send_keys('{"company": "Sjø & \'co\' $HOME `x`"}')
        status, body = signed_in.run_line(token_of(owner))
        assert (status, body["company"]) == (200, "Sjø & 'co' $HOME `x`")
        assert "$TOKEN" in signed_in.words_of("curl")

    def test_full_access_asks_for_the_password_and_leads_back(self, signed_in):
        [cookie] = [each for each in signed_in.driver.get_cookies() if each["name"] == "sessionid"]
        session = SessionStore(session_key=cookie["value"])
        session["confirmed"] = time.time() - 700
        session.save()
        signed_in.pick(FULL_ACCESS)
        signed_in.send()
        assert signed_in.problem == "You signed in a while ago. Enter your password first"
        assert not PersonalToken.objects.exists()
        signed_in.follow("Enter your password first")
        signed_in.type("Password", PASSWORD)
        signed_in.press("Continue")
        assert signed_in.path == ACCOUNT
        signed_in.pick(FULL_ACCESS)
        signed_in.send()
        assert signed_in.status == "Answered 200 OK"

    def test_a_pasted_token_is_used_and_kept_in_memory_alone(self, reader, owner):
        token = token_of(owner, "account:read_only")
        reader.visit(ACCOUNT)
        reader.pick("pasted by me")
        reader.send()
        assert reader.problem.startswith("Paste a token first")
        reader.type("Token to use", token)
        reader.send()
        assert reader.came["company"] == "Cast"
        assert reader.headers["x-oauth-scopes"] == "account:read_only"
        assert token not in reader.driver.execute_script(STORED)
        assert token not in reader.driver.page_source
        assert reader.run_line(token) == (200, reader.came)
        reader.visit(ACCOUNT)
        reader.send()
        assert reader.problem.startswith("Paste a token first")

    def test_parameters_go_where_they_belong(self, reader):
        for name in ("us-east", "us-west", "eu-north"):
            Region.objects.create(id=name, country=name[:2])
        reader.visit(REGIONS)
        for name, value in (("page_size", "25"), ("X-Filter", '{"country": "us", "+order_by": "id"}')):
            fields = reader.driver.find_elements(By.CSS_SELECTOR, f"#try [name='{name}']")
            for field in fields:
                field.send_keys(value)
        reader.send()
        assert {each["id"] for each in reader.came["data"]} <= {"us-east", "us-west", "eu-north"}
        assert reader.run_line() == (200, reader.came)
        reader.visit("/docs/operations/regions_retrieve")
        reader.driver.find_element(By.CSS_SELECTOR, "#try [name=id]").send_keys("us-west")
        reader.send()
        assert reader.came["id"] == "us-west"

    def test_typed_filters_are_sent_as_ascii(self, reader):
        Region.objects.create(id="us-east", country="us")
        reader.visit(REGIONS)
        reader.driver.find_element(By.CSS_SELECTOR, "#try [name='X-Filter']").send_keys('{"country": "\'ø\'"}')
        reader.send()
        assert (reader.status, reader.came["data"]) == ("Answered 200 OK", [])
        assert reader.run_line() == (200, reader.came)

    def test_files_are_sent_and_received(self, reader, account, owner, tmp_path):
        picture, ticket = tmp_path / "logo.png", TicketFactory(account=account)
        picture.write_bytes(PICTURE)
        app = OAuthClientFactory(account=account)
        reader.visit("/docs/operations/account_oauth_clients_thumbnail_update")
        reader.pick("pasted by me")
        reader.type("Token to use", token_of(owner))
        self.fill(reader, app.client_id, picture)
        assert "--data-binary @logo.png" in reader.words_of("curl")
        reader.send()
        assert reader.status == "Answered 200 OK"
        assert draw_due() == 1, "as a worker does"
        reader.search("picture")
        link = '#list a[href$="/account_oauth_clients_thumbnail_retrieve"]'
        reader.go_by(link)
        self.fill(reader, app.client_id)
        reader.send()
        assert reader.words_of("came-body").startswith("image/png, ")
        assert reader.driver.find_element(By.ID, "came-file").is_displayed()
        reader.search("attachments")
        link = '#list a[href$="/support_tickets_attachments_create"]'
        reader.go_by(link)
        self.fill(reader, str(ticket.pk), picture)
        assert "-F file=@logo.png" in reader.words_of("curl")
        reader.send()
        assert reader.status == "Answered 200 OK"
        ticket.refresh_from_db()
        assert [each.name for each in ticket.attachments.all()] == ["logo.png"]

    def fill(self, reader: Reader, id: str, file: Path | None = None) -> None:
        """Fill in the id of the path, and the file."""
        reader.driver.find_element(By.CSS_SELECTOR, "#try [name=id]").send_keys(id)
        if file:
            reader.driver.find_element(By.CSS_SELECTOR, "#try [type=file]").send_keys(str(file))

    def test_the_form_names_own_objects_or_leads_to_their_create(self, signed_in, account):
        signed_in.visit("/docs/operations/volumes_retrieve")
        assert "an object that your account does not have yet" in signed_in.text
        signed_in.go_by("#create-first a")
        assert signed_in.path == "/docs/operations/volumes_create"
        volume = VolumeFactory(account=account)
        signed_in.go_by('#list a[href$="/volumes_retrieve"]')
        assert "an object that your account does not have yet" not in signed_in.text
        signed_in.send()
        assert (signed_in.status, signed_in.came["id"]) == ("Answered 200 OK", volume.pk)

    def test_errors_are_answers_too(self, reader):
        reader.visit("/docs/operations/regions_retrieve")
        reader.driver.find_element(By.CSS_SELECTOR, "#try [name=id]").send_keys("nowhere")
        reader.send()
        assert reader.words_of("came-status").startswith("404")
        assert reader.came["errors"][0]["reason"] == "Not found"

    def test_after_somebody_else_signed_in_the_page_has_to_be_loaded_again(self, signed_in):
        signed_in.driver.delete_all_cookies()
        signed_in.send()
        assert "Somebody signed in or out after" in signed_in.problem
        signed_in.follow("Load the page again")
        assert "Sign in, and the page creates a token" in signed_in.text

    def test_staff_see_why_the_page_creates_no_token(self, reader):
        reader.arrive_as(StaffFactory(username="staff"))
        reader.visit(ACCOUNT)
        assert "You are staff without an account" in reader.text
        assert reader.field("pasted by me").is_selected()


@pytest.mark.parametrize("path", ["/docs", REGIONS, CREATE])
def test_it_can_be_read_and_used_by_everybody(signed_in, path):
    signed_in.visit(path)
    check(signed_in)
