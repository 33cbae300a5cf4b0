"""Operations are found by words, the best first."""

import pytest

from config.reference import search as module
from config.reference.reading import read
from config.reference.search import MAX_LETTERS, search


@pytest.fixture(autouse=True)
def _small(monkeypatch) -> None:
    """A document of four operations in place of the served one."""
    rules = {"type": "object", "properties": {"ports": {"type": "string", "description": "Such as 22 or `80-90`."}}}
    firewall = {"type": "object", "properties": {"rules": rules, "policy": {"enum": ["ACCEPT", "DROP"]}}}
    body = {"content": {"application/json": {"schema": firewall}}}
    answer = {"200": {"description": "", "content": {"application/json": {"schema": firewall}}}}
    filters = [{"name": "X-Filter", "in": "header", "description": "A condition.", "schema": {"type": "string"}}]
    document = {
        "info": {"title": "T", "version": "1"},
        "security": [{"oauth": ["firewall:read_write"]}],
        "paths": {
            "/v4/networking/firewalls": {
                "get": {"operationId": "firewalls_list", "summary": "List firewalls", "responses": answer,
                        "parameters": filters},
                "post": {"operationId": "firewalls_create", "summary": "Create a firewall", "requestBody": body},
            },
            "/v4/volumes/{id}/attach": {
                "post": {"operationId": "volumes_attach", "summary": "Attach a volume",
                         "description": "Its firewall stays. See CREATE."},
            },
            "/v4/regions": {"get": {"operationId": "regions_list", "summary": "List regions", "security": []}},
        },
    }  # fmt: skip
    small = read(document)
    monkeypatch.setattr(module, "reference", lambda: small)
    module._index.cache_clear()
    yield
    module._index.cache_clear()


def ids(words: str) -> list[str]:
    return [found.operation.id for found in search(words)]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("regions", ["regions_list"]),
        ("/v4/volumes", ["volumes_attach"]),
        ("ATTACH", ["volumes_attach"]),
        ("create", ["firewalls_create", "volumes_attach"]),
        ("post firewall", ["firewalls_create", "volumes_attach"]),
        ("list firewall", ["firewalls_list"]),
        ("x-filter", ["firewalls_list"]),
        ("condition", ["firewalls_list"]),
        ("ports", ["firewalls_create", "firewalls_list"]),
        ("80-90", ["firewalls_create", "firewalls_list"]),
        ("drop", ["firewalls_create", "firewalls_list"]),
        ("firewall:read_write volume", ["volumes_attach"]),
        ("volumes attach", ["volumes_attach"]),
        ("volume nothing", []),
        ("", []),
        ("  ", []),
    ],
)
def test_all_words_are_looked_for_everywhere(words, found):
    assert ids(words) == found


def test_a_place_that_is_not_to_be_seen_in_the_list_is_named():
    places = {found.operation.id: found.places for found in search("ports firewall")}
    assert places == {"firewalls_create": ("field ports",), "firewalls_list": ("field of the answer ports",)}


def test_much_text_is_read_to_a_bound():
    assert ids("regions" + " " * MAX_LETTERS + "nothing") == ["regions_list"]
    assert ids("x" * 100_000) == []
