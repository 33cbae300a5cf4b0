"""Private parts of packages that we subclass or call still have the shape that we rely on.

Each of these packages is pinned to one minor version. The page docs/decisions/pinned-packages.md says why each
name is used, and what to check after a failure.
"""

import asyncio
import inspect
import tomllib
from importlib import import_module
from importlib.metadata import version
from typing import Any

import aiohttp
import pytest
import redis
from authlib.integrations.base_client import OAuth2Mixin, OpenIDMixin
from django.db import connection
from django.http import HttpRequest, HttpResponse
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.oauth2 import WebApplicationServer
from packaging.requirements import Requirement
from rest_framework.request import Request

from accounts.models import User
from config.db.connections import KeptStatements
from tests.lock_files import PRODUCTION, ROOT, normalized, pins

PAGE = ROOT / "docs" / "decisions" / "pinned-packages.md"

SHAPES = {
    "django": {
        "django.db.backends.postgresql.base.DatabaseWrapper._commit": "self",
        "django.db.backends.postgresql.base.DatabaseWrapper._set_autocommit": "self, autocommit",
    },
    "django-oauth-toolkit": {
        "oauth2_provider.oauth2_validators.OAuth2Validator._check_and_set_request_resource": "self, request",
        "oauth2_provider.oauth2_validators.OAuth2Validator._create_authorization_code": (
            "self, request, code, expires="
        ),
        "oauth2_provider.oauth2_validators.OAuth2Validator._extract_basic_auth": "self, request",
        "oauth2_provider.oauth2_validators.OAuth2Validator._load_application": "self, client_id, request",
        "oauth2_provider.oauth2_backends.OAuthLibCore._extract_params": "self, request",
    },
    "oauthlib": {
        "oauthlib.oauth2.rfc6749.endpoints.base.BaseEndpoint._raise_on_bad_method": "self, request",
        "oauthlib.oauth2.rfc6749.endpoints.base.BaseEndpoint._raise_on_invalid_client": "self, request",
        "oauthlib.oauth2.rfc6749.endpoints.base.BaseEndpoint._raise_on_missing_token": "self, request",
    },
    "authlib": {
        "authlib.integrations.base_client.OAuth2Mixin.load_server_metadata": "self",
        "authlib.integrations.base_client.OpenIDMixin.fetch_jwk_set": "self, force=",
        "authlib.integrations.base_client.OpenIDMixin.parse_id_token": (
            "self, token, nonce, claims_options=, claims_cls=, leeway="
        ),
    },
    "aiohttp": {
        "aiohttp.client_proto.ResponseHandler.__init__": "self, loop",
        "aiohttp.client_proto.ResponseHandler.data_received": "self, data",
        "aiohttp.client_proto.ResponseHandler.feed_data": "self, data, size=",
    },
    "psycopg": {
        "psycopg._preparing.PrepareManager._should_discard": "self, prep, results, _PrepareManager__should_clear=",
        "psycopg._preparing.PrepareManager.clear": "self",
        "psycopg._preparing.PrepareManager.key": "query",
        "psycopg._preparing.PrepareManager.maybe_add_to_cache": "self, query, prep, name",
        "psycopg._preparing.PrepareManager.validate": "self, key, prep, name, results",
        "psycopg._preparing.PrepareManager.get": "self, query, prepare=",
        "psycopg.adapt.Transformer.load_rows": "self, row0, row1, make_row",
        "psycopg.adapt.Transformer.set_pgresult": "self, result, set_loaders=, format=",
        "psycopg.errors.error_from_result": "result, encoding=",
        "psycopg.pq.PGconn.close_prepared": "self, name",
        "psycopg.pq.PGconn.exec_prepared": "self, name, param_values, param_formats=, result_format=",
        "psycopg.pq.PGconn.prepare": "self, name, command, param_types=",
        "psycopg.types.net.InetBinaryLoader.load": "self, data",
    },
    "redis": {
        "redis.connection.Connection.read_response": (
            "self, disable_decoding=, timeout=, disconnect_on_error=, push_request="
        ),
        "redis.connection.Connection.send_command": "self, *args, **kwargs",
        "redis.connection.ConnectionPool.make_connection": "self",
    },
    "dnspython": {
        "dns._asyncio_backend.Backend.make_socket": (
            "self, af, socktype, proto=, source=, destination=, timeout=, ssl_context=, server_hostname="
        ),
        "dns.asyncbackend.StreamSocket.__init__": "self, family, type",
    },
    "drf-spectacular": {
        "drf_spectacular.openapi.AutoSchema._get_request_body": "self, direction=",
        "drf_spectacular.openapi.AutoSchema._insert_field_validators": "self, field, schema",
        "drf_spectacular.openapi.AutoSchema._is_list_view": "self, serializer=",
        "drf_spectacular.openapi.AutoSchema._map_basic_serializer": "self, serializer, direction",
        "drf_spectacular.openapi.AutoSchema._map_serializer_field": "self, field, direction, bypass_extensions=",
        "drf_spectacular.openapi.AutoSchema._tokenize_path": "self",
    },
}
"""For each package, the private functions that we use, by path, with their parameters."""
ATTRIBUTES = {
    "django": ("_store", "_state"),
    "djangorestframework": ("_request", "_authenticator"),
    "authlib": ("_loaded_at", "jwks", "server_metadata"),
    "oauthlib": ("custom_validators", "response_types"),
    "aiohttp": ("_factory", "_loop"),
    "psycopg": ("_prepared",),
}
"""The other private names, each with a test of its own below."""
PACKAGES = sorted({*SHAPES, *ATTRIBUTES})
CASES = [(package, path, shape) for package, shapes in SHAPES.items() for path, shape in shapes.items()]


def changed(package: str, name: str) -> str:
    return f"{package} {version(package)}: {name} is not as it was. See docs/decisions/{PAGE.name}"


def found(path: str) -> Any:
    """Return the object at a dotted path, or None."""
    names = path.split(".")
    for end in range(len(names) - 1, 0, -1):
        try:
            place: Any = import_module(".".join(names[:end]))
        except ModuleNotFoundError:
            continue
        for name in names[end:]:
            place = getattr(place, name, None)
        return place
    return None


def parameters(function: Any) -> str:
    """Return the names of a function's parameters. Names with a default are followed by an equals sign."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return ", ".join(
        stars.get(each.kind, "") + each.name + ("=" if each.default is not each.empty else "")
        for each in inspect.signature(function).parameters.values()
    )


@pytest.mark.parametrize(("package", "path", "shape"), CASES, ids=[path for _, path, _ in CASES])
def test_a_private_function_has_the_same_parameters(package, path, shape):
    function = found(path)
    assert function is not None, changed(package, path)
    assert parameters(function) == shape, changed(package, path)


def test_a_function_that_is_gone_or_takes_something_else_is_noticed():
    assert found("oauth2_provider.oauth2_validators.OAuth2Validator._no_such_thing") is None
    assert found("no_such_package.Thing._load") is None
    assert parameters(OAuth2Validator._load_application) != "self, client_id"


def test_the_toolkit_calls_the_methods_that_we_override():
    """An override that the package no longer calls would fail no other test of this file."""
    source = inspect.getsource(OAuth2Validator)
    for name in ("_load_application", "_check_and_set_request_resource", "_create_authorization_code"):
        assert f"self.{name}(" in source, changed("django-oauth-toolkit", name)


def test_oauthlib_asks_its_validators_and_response_types():
    server = WebApplicationServer(OAuth2Validator())
    assert isinstance(server.auth_grant.custom_validators.post_auth, list), changed("oauthlib", "custom_validators")
    assert isinstance(type(server).response_types, property), changed("oauthlib", "response_types")
    assert "code" in server.response_types, changed("oauthlib", "response_types")


def test_authlib_keeps_a_description_and_its_keys_where_we_look():
    class Known(OAuth2Mixin, OpenIDMixin):
        """A client whose metadata are complete, so that nothing is fetched."""

    client = Known(None, server_metadata_url="https://127.0.0.1:1/")
    client.server_metadata |= {"_loaded_at": 1.0, "jwks": {"keys": [1]}}
    assert client.load_server_metadata() is client.server_metadata, changed("authlib", "_loaded_at")
    assert client.fetch_jwk_set() == {"keys": [1]}, changed("authlib", "jwks")


def test_aiohttp_makes_its_connections_by_a_factory():
    async def attributes() -> tuple[Any, Any, Any]:
        connector = aiohttp.TCPConnector()
        try:
            return connector._factory, connector._loop, asyncio.get_running_loop()
        finally:
            await connector.close()

    factory, loop, running = asyncio.run(attributes())
    assert factory.func is found("aiohttp.client_proto.ResponseHandler"), changed("aiohttp", "_factory")
    assert factory.keywords == {"loop": running}, changed("aiohttp", "_factory")
    assert loop is running, changed("aiohttp", "_loop")


def test_psycopg_still_has_the_parts_that_read_rows():
    transformer = found("psycopg.adapt.Transformer")
    assert hasattr(transformer, "pgresult"), changed("psycopg", "Transformer.pgresult")


def test_a_connection_of_psycopg_asks_the_record_of_its_statements(db, monkeypatch):
    connection.ensure_connection()
    link = connection.connection
    assert isinstance(link._prepared, KeptStatements), changed("psycopg", "Connection._prepared")
    monkeypatch.setattr(link._prepared, "prepare_threshold", 7)
    assert link.prepare_threshold == 7, changed("psycopg", "Connection._prepared")


def test_a_pool_of_redis_makes_connections_that_are_not_open():
    connection = redis.ConnectionPool.from_url("redis://127.0.0.1:1").make_connection()
    assert isinstance(connection, redis.connection.Connection), changed("redis", "make_connection")
    assert not connection.is_connected, changed("redis", "make_connection")


def test_a_request_of_the_framework_holds_django_s():
    inner = HttpRequest()
    request = Request(inner)
    assert request._request is inner, changed("djangorestframework", "_request")
    request._authenticator = marker = object()
    assert request.successful_authenticator is marker, changed("djangorestframework", "_authenticator")


def test_django_keeps_headers_and_the_state_of_rows_where_it_did():
    response = HttpResponse(headers={"X-Y": "z"})
    assert response.headers._store["x-y"] == ("X-Y", "z"), changed("django", "_store")
    assert (User()._state.adding, User()._state.db) == (True, None), changed("django", "_state")


@pytest.mark.parametrize("package", PACKAGES)
def test_each_is_pinned_to_one_minor_version(package):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [wanted] = [each for line in project["dependencies"] if normalized((each := Requirement(line)).name) == package]
    locked = pins(PRODUCTION)[package]
    major, minor, *_ = map(int, locked.split("."))
    assert wanted.specifier.contains(locked)
    assert not wanted.specifier.contains(f"{major}.{minor + 1}.0"), f"pin {package}: see docs/decisions/{PAGE.name}"
    assert not wanted.specifier.contains(f"{major + 1}.0.0")
    assert wanted.specifier.contains(version(package)), "what is installed here is not what is pinned"


@pytest.mark.parametrize("package", PACKAGES)
def test_the_page_names_each(package):
    [section] = [part for part in PAGE.read_text().split("\n## ") if part.partition("\n")[0] == package]
    names = [*(path.rpartition(".")[2] for path in SHAPES.get(package, ())), *ATTRIBUTES.get(package, ())]
    for name in names:
        assert f"`{name}`" in section or f".{name}`" in section, f"{name} is not on the page"
