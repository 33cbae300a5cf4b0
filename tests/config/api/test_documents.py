"""The OpenAPI document and the health check."""

import gzip
import json
from pathlib import Path

import pytest
import yaml
from django.conf import settings
from django.db import OperationalError, connection

from config.api import access
from config.api.documents import document
from tests.config.api.routes import routes

COMMITTED = Path(settings.BASE_DIR) / "docs" / "openapi.yaml"
METHODS = ("get", "post", "put", "delete")


@pytest.fixture(scope="module")
def openapi() -> dict:
    return yaml.safe_load(document("yaml"))


def test_the_committed_document_is_current():
    current = document("yaml").decode()
    assert COMMITTED.read_text() == current, "run manage.py spectacular --file docs/openapi.yaml"


def test_every_route_is_documented_with_its_scopes_and_its_errors(openapi):
    documented = {
        (method, path): operation
        for path, item in openapi["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    }
    assert set(documented) == {(route.method, route.documented) for route in routes()}
    for route in routes():
        operation = documented[route.method, route.documented]
        scopes = {name for each in operation.get("security", []) for name in each.get("oauth", [])}
        assert scopes == {*route.scope.names, *route.scope.also}
        refused = set(operation["responses"]) - {"200", "204"}
        assert {"401", "429", "5XX"} <= refused <= {"400", "401", "403", "404", "415", "429", "5XX"}
        assert ("403" in refused) == (route.grant != access.ANYONE or 403 in route.operation.refusals)
        assert ("415" in refused) == ("requestBody" in operation)
        if route.parameters:
            assert "404" in refused


def test_operation_ids_are_unique(openapi):
    ids = [operation["operationId"] for item in openapi["paths"].values() for operation in item.values()]
    assert len(ids) == len(set(ids))


def test_the_document_is_served_in_both_forms(client, openapi):
    assert client.get("/openapi.json").json() == openapi
    assert yaml.safe_load(client.get("/openapi.yaml").content) == openapi


@pytest.mark.parametrize(("accepted", "is_compressed"), [("gzip, br", True), ("identity", False)])
def test_the_document_is_compressed_for_clients_that_accept_it(client, openapi, accepted, is_compressed):
    answer = client.get("/openapi.json", headers={"accept-encoding": accepted})
    assert answer.get("Content-Encoding") == ("gzip" if is_compressed else None)
    content = gzip.decompress(answer.content) if is_compressed else answer.content
    assert json.loads(content) == openapi
    assert "Accept-Encoding" in answer["Vary"]


def test_a_client_that_has_the_document_is_not_sent_it_again(client):
    tags = [client.get("/openapi.json", headers=each)["ETag"] for each in ({}, {"accept-encoding": "gzip"})]
    assert len(set(tags)) == 2, "a strong tag belongs to one encoding"
    asked = {"accept-encoding": "gzip", "if-none-match": tags[1]}
    again = client.get("/openapi.json", headers=asked)
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/openapi.json", headers=asked | {"accept-encoding": "identity"}).status_code == 200


def test_health_follows_the_database(client, db, monkeypatch):
    assert client.get("/healthz").status_code == 200

    def gone(*args):
        raise OperationalError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(connection, "cursor", gone)
        patch.setattr(connection, "close", lambda: None)
        assert client.get("/healthz").status_code == 503
