"""Failures outside of the API are pages for browsers, and JSON for others. Below /v4 they are always JSON."""

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import HttpResponse
from django.test import Client
from django.test.client import RequestFactory

from accounts.models import User
from config.web import error_pages
from tests.accounts.pages.browsers import sign_in

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
UNKNOWN = ["/nothing", "/v5/regions", "/v4x", "/docs/nothing", "/home/nothing", "/static/nothing.css", "/%00", "/é"]
pytestmark = pytest.mark.django_db


def is_page(answer, words: str) -> bool:
    assert answer["Content-Security-Policy"].startswith("default-src 'none'")
    assert "no-store" in answer["Cache-Control"]
    page = answer.content.decode()
    assert '<link rel="stylesheet" href="/static/frame/frame.css">' in page
    return answer["Content-Type"].startswith("text/html") and words in page


@pytest.mark.parametrize("path", UNKNOWN)
def test_a_browser_is_shown_that_there_is_no_such_page(client, path):
    answer = client.get(path, headers={"Accept": BROWSER})
    assert answer.status_code == 404
    assert is_page(answer, "This page does not exist")


@pytest.mark.parametrize("path", UNKNOWN)
@pytest.mark.parametrize(
    "accept",
    [None, "*/*", "application/json", "text/html;q=0.5, application/json", "text/html; x*=undefined''a", ";;"],
)
def test_others_get_the_error_body(client, path, accept):
    answer = client.get(path, headers={} if accept is None else {"Accept": accept})
    assert answer.status_code == 404
    assert answer.json() == {"errors": [{"field": None, "reason": "Not found"}]}


@pytest.mark.parametrize(
    "path",
    ["/v4/nothing", "/v4beta/nothing", "/v4//nothing/", "/v4/regions/x/y", "/v4/%00", "/v4/account/events/x"],
)
def test_below_the_api_it_is_json_for_browsers_too(client, path):
    answer = client.get(path, headers={"Accept": BROWSER})
    assert answer.status_code == 404
    assert answer.json()["errors"] == [{"field": None, "reason": "Not found"}]
    assert "X-RateLimit-Remaining" in answer


def test_the_path_is_shown_and_not_obeyed(client):
    answer = client.get("/<script>alert(1)</script>", headers={"Accept": BROWSER})
    assert "&lt;script&gt;" in answer.content.decode()


def test_pages_that_are_not_for_this_user_look_the_same(staff):
    browser = sign_in("staff", staff)
    for path in ("/home/tokens/new", "/admin/nothing/", "/home/tokens/1/revoke/x"):
        assert is_page(browser.get(path, headers={"Accept": BROWSER}), "This page does not exist"), path


@pytest.mark.parametrize("path", ["/home/tokens/1/revoke", "/docs/token", "/home/second-factor/off"])
def test_a_wrong_method_is_no_blank_page(owner, path):
    browser = sign_in("owner", owner)
    answer = browser.get(path, headers={"Accept": BROWSER})
    assert answer.status_code == 405
    assert is_page(answer, "This address is not a page")
    assert "POST" in answer["Allow"]
    assert browser.get(path).json()["errors"][0]["reason"] == "Method Not Allowed"


def test_a_wrong_method_of_the_api_stays_its_own(client):
    answer = client.post("/v4/regions", headers={"Accept": BROWSER})
    assert answer.status_code == 405
    assert answer.json()["errors"] == [{"field": None, "reason": "Method Not Allowed"}]


def test_a_missing_permission_of_staff_is_shown_as_a_page(staff):
    User.objects.filter(pk=staff.pk).update(is_superuser=False)
    answer = sign_in("staff", staff).get("/admin/accounts/account/add/", headers={"Accept": BROWSER})
    assert answer.status_code == 403
    assert is_page(answer, "You are not allowed to do this")
    assert "<nav" not in answer.content.decode()


def test_customers_without_a_permission_keep_their_navigation(restricted, django_assert_num_queries):
    browser = sign_in("restricted", restricted)
    answer = browser.get("/home/scripts/new", headers={"Accept": BROWSER})
    assert answer.status_code == 403
    assert is_page(answer, "You are not allowed to do this")
    page = answer.content.decode()
    assert 'href="/home/scripts"' in page
    assert 'href="/home/users"' not in page, "the user may not open it"
    request = RequestFactory().get("/home/scripts/new", headers={"Accept": BROWSER})
    with django_assert_num_queries(0):
        assert "<nav" not in error_pages.permission_denied(request, PermissionDenied()).content.decode()
        in_admin = RequestFactory().get("/admin/", headers={"Accept": BROWSER})
        in_admin._cached_user = restricted
        assert "<nav" not in error_pages.permission_denied(in_admin, PermissionDenied()).content.decode()


def test_forms_of_elsewhere_and_of_before_are_pages():
    answer = Client(enforce_csrf_checks=True).post("/login", {"username": "x"}, headers={"Accept": BROWSER})
    assert answer.status_code == 403
    assert '<link rel="stylesheet" href="/static/frame/frame.css">' in answer.content.decode()


def test_a_failure_is_a_page_that_needs_neither_session_nor_user(monkeypatch):
    def broken(*args):
        raise RuntimeError("broken")

    monkeypatch.setattr("django.contrib.sessions.backends.db.SessionStore.load", broken)
    browser = Client(raise_request_exception=False)
    browser.cookies["sessionid"] = "x" * 32
    answer = browser.get("/home/profile", headers={"Accept": BROWSER})
    assert answer.status_code == 500
    assert is_page(answer, "Something went wrong")
    assert "broken" not in answer.content.decode()
    assert browser.get("/home/profile").json()["errors"][0]["reason"] == "An unexpected error occurred"


def test_a_host_that_is_none_of_ours_is_a_page(client, settings):
    settings.ALLOWED_HOSTS = ["cloud.example.com"]
    answer = client.get("/home", headers={"Accept": BROWSER, "Host": "evil.example"})
    assert answer.status_code == 400
    assert is_page(answer, "was not understood")


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz", "/version", "/metrics"])
def test_monitoring_may_use_any_host_name(client, db, settings, path):
    settings.ALLOWED_HOSTS = ["cloud.example.com"]
    settings.METRICS_TOKEN = "secret"
    headers = {"Host": "10.0.0.7:8000", "Authorization": "Bearer secret"}
    answer = client.get(path, headers=headers)
    assert answer.status_code == 200
    assert int(answer["Content-Length"]) == len(answer.content)


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (400, lambda request: error_pages.bad_request(request, SuspiciousOperation())),
        (403, lambda request: error_pages.permission_denied(request, PermissionDenied())),
        (500, error_pages.server_error),
    ],
)
def test_a_failure_before_the_views_of_the_api_is_json(status, answer):
    """As in a middleware, before the views' own handler is reached."""
    answered = answer(RequestFactory().get("/v4/regions", headers={"Accept": BROWSER}))
    assert answered.status_code == status
    assert set(answered.headers) >= {"Content-Length"}
    assert b'"field":null' in answered.content


def test_a_405_that_says_something_is_left_alone():
    refusal = HttpResponse("{}", status=405, headers={"Allow": "POST"})
    assert error_pages.explain_methods(lambda request: refusal)(RequestFactory().get("/x")) is refusal
