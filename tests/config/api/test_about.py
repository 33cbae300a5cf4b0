"""/v4 itself describes the API."""

import pytest
from django.conf import settings as configured

from tests.accounts.signing_in import limit
from tests.config.api.routes import routes

__all__ = ["limit"]
pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", ["/v4", "/v4/", "/v4//", "/v4beta", "/v4beta/"])
@pytest.mark.parametrize("accept", ["text/html", "*/*"])
def test_the_answer_needs_no_token(client, settings, path, accept):
    settings.SITE_URL = "https://cloud.example.com"
    answer = client.get(path, headers={"Accept": accept})
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/json"
    assert answer.json() == {
        "name": "Skerry",
        "version": configured.API_REVISION,
        "documentation": "https://cloud.example.com/docs",
        "openapi": "https://cloud.example.com/openapi.json",
    }


def test_its_links_lead_somewhere(client, settings):
    for name in ("documentation", "openapi"):
        assert client.get(client.get("/v4").json()[name].removeprefix(settings.SITE_URL)).status_code == 200


def test_it_is_counted_as_any_other_request(client, limit):
    limit(endpoint="2/60")
    assert client.get("/v4")["X-RateLimit-Remaining"] == "1"
    assert client.get("/v4beta").status_code == 200
    assert client.get("/v4").status_code == 429
    assert client.get("/v4/nothing").status_code == 404


def test_it_takes_nothing(client):
    answer = client.post("/v4", {}, content_type="application/json")
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD, OPTIONS")
    assert client.get("/v4", headers={"Authorization": "Bearer nobody"}).status_code == 401


def test_it_is_no_operation_of_the_contract():
    assert "/v4" not in {route.path for route in routes()}
    assert "/v4/" not in {route.path for route in routes()}
