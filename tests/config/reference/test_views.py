"""The pages of the reference as the server renders them. tests/browser/test_reference.py uses them in a
browser."""

import re
from html import unescape

import pytest
from django.test import Client

from compute.services.seed import seed
from config.api.examples import installed_ids
from config.reference.reading import reference
from tests.accounts.pages.browsers import sign_in
from tests.factories import HostFactory, RegionFactory

pytestmark = pytest.mark.django_db
CREATE = "/docs/operations/compute_instances_create"


def text(page) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page.content.decode())).split())


def test_all_parts_come_from_here(client):
    for path in ("/docs", CREATE):
        page = client.get(path)
        assert page.status_code == 200
        links = re.findall(r'<(?:script|link|img|a)[^>]* (?:src|href)="([^"]+)"', page.content.decode())
        assert links
        for link in links:
            assert link.startswith(("/", "#")), link
            assert not link.startswith("//"), link
            if link.startswith("/static/"):
                assert client.get(link).status_code == 200, link


def test_the_policy_allows_nothing_written_into_the_page(client):
    for path in ("/docs", CREATE):
        page = client.get(path)
        policy = page["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert "form-action 'self'" in policy
        assert not re.search(rb"<style| style=| on[a-z]+=|<script>", page.content)
        assert "no-store" in page["Cache-Control"]


def test_the_list_and_the_introduction_lead_to_every_operation(client):
    page = client.get("/docs").content.decode()
    for operation in reference().operations.values():
        assert page.count(f'href="{operation.address}"') == 2, operation.id


def test_every_operation_has_a_page_with_all_that_it_takes(client):
    for operation in reference().operations.values():
        page = client.get(operation.address)
        assert page.status_code == 200
        shown = text(page)
        assert operation.path in shown
        for field in [*(each.field for each in operation.parameters), *(each.field for each in operation.bodies)]:
            for each in (field, *field.walk()):
                assert each.name in shown, f"{operation.id}: {each.name}"


def test_an_unknown_operation_is_not_found(client):
    assert client.get("/docs/operations/nothing").status_code == 404


def test_search_works_without_scripts(client):
    page = text(client.get("/docs", {"q": "attach volume"}))
    assert "/v4/volumes/{id}/attach" in page
    assert re.search(r"\d+ of \d+ operations", page)
    assert f"{len(reference().operations)} operations" in text(client.get("/docs", {"q": " "}))


def test_the_searched_text_is_escaped(client):
    page = client.get("/docs", {"q": '"><script>alert(1)</script>'}).content.decode()
    assert "<script>alert" not in page
    assert "0 of" in page


@pytest.mark.parametrize("words", ["a\x00b", "x" * 5000, "💥", "%ff"])
def test_any_words_can_be_searched_for(client, words):
    assert client.get("/docs", {"q": words}).status_code == 200
    assert client.get("/docs/found", {"q": words}).status_code == 200


def test_the_script_gets_the_list_alone(client):
    part = client.get("/docs/found", {"q": "volumes"}).content.decode()
    assert part.lstrip().startswith('<p role="status">')
    assert "<html" not in part
    assert client.post("/docs/found").status_code == 405


@pytest.fixture
def _ids_read_anew():
    installed_ids.forget()
    yield
    installed_ids.forget()


@pytest.mark.usefixtures("_ids_read_anew")
def test_the_ids_are_those_of_the_installation(client, django_assert_num_queries):
    seed()
    HostFactory(region=RegionFactory(id="no-osl"))
    page = unescape(client.get(CREATE).content.decode())
    assert page.count('"region": "no-osl"') == 3  # the example, the body to send and the answer
    assert "us-east" not in page
    assert page.count('"image": "compute/debian11"') == 3
    with django_assert_num_queries(0):
        assert "no-osl" in client.get(CREATE).content.decode()


class TestWhoMayTry:
    def test_a_customer_is_offered_tokens_of_the_page(self, owner):
        page = sign_in("owner", owner).get(CREATE)
        assert "created by this page for owner, read only" in text(page)
        assert "for 15 minutes" in text(page)
        assert re.search(rb'id="csrf" value="\w{64}"', page.content)

    def test_staff_see_why_there_is_no_token_for_them(self, staff):
        page = sign_in("staff", staff).get(CREATE)
        assert "You are staff without an account" in text(page)
        assert "of this page" not in text(page)
        assert b'id="csrf" value=""' in page.content

    def test_everybody_else_is_led_to_sign_in_and_back(self):
        page = Client().get(CREATE)
        assert f'href="/login?next={CREATE}"' in page.content.decode()
        assert "of this page" not in text(page)
        assert "Set-Cookie" not in page.headers
        assert not page.cookies
