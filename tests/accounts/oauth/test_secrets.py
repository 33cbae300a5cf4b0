"""Codes, tokens and secrets are stored in readable form neither in the database nor in the logs."""

import logging

import pytest
from django.db import IntegrityError, connection, transaction

from accounts.models import OAuthClient

pytestmark = pytest.mark.django_db


def everything_stored() -> dict[str, str]:
    """Return all rows of all tables, as one text for each table."""
    found = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            found[table] = "\n".join(row for (row,) in cursor.fetchall())
    return found


def tables_with(secret: str) -> list[str]:
    return [table for table, text in everything_stored().items() if secret in text]


def test_the_search_for_secrets_finds_stored_values(web):
    assert tables_with(web.id) == ["accounts_oauthclient"]


def test_no_column_of_any_table_holds_a_code_a_token_or_a_secret(app, owner):
    code = app.code(owner)
    waiting = app.code(owner)
    token = app.exchange(code).json()
    secrets = [code, waiting, token["access_token"], app.verifier]
    if not app.pkce:
        second = app.refresh(token["refresh_token"]).json()
        secrets += [token["refresh_token"], second["access_token"], second["refresh_token"], app.secret]
        app.revoke(second["refresh_token"])
    stored = everything_stored()
    assert {"accounts_oauthgrant", "accounts_oauthaccesstoken", "accounts_oauthrefreshtoken"} <= stored.keys()
    assert stored["accounts_oauthgrant"]
    for secret in secrets:
        assert [table for table, text in stored.items() if secret in text] == []


def test_no_client_can_keep_its_secret_readable(web):
    with pytest.raises(IntegrityError, match="oauth_client_secret_hashed"), transaction.atomic():
        OAuthClient.objects.create(name="Careless", client_secret="0" * 64, hash_client_secret=False)
    with pytest.raises(IntegrityError, match="oauth_client_secret_hashed"), transaction.atomic():
        OAuthClient.objects.filter(pk=web.client.pk).update(client_secret=web.secret)


def test_no_line_of_the_log_holds_them_either(app, owner, caplog):
    for library in ("oauthlib", "oauth2_provider"):
        assert not logging.getLogger(library).isEnabledFor(logging.INFO)
    caplog.set_level(logging.DEBUG)
    code = app.code(owner)
    token = app.exchange(code).json()
    app.exchange(code)
    secrets = [code, app.verifier, token["access_token"]]
    if not app.pkce:
        secrets += [app.secret, token["refresh_token"]]
        app.refresh(token["refresh_token"], client_secret="wrong")
        app.refresh(token["refresh_token"])
        app.refresh(token["refresh_token"])
    app.revoke(token["access_token"])
    assert "/oauth/token" in caplog.text
    assert [secret for secret in secrets if secret in caplog.text] == []
