"""The provider's settings in the environment."""

import subprocess
import sys
from pathlib import Path

import pytest

from config.environment.openid import OpenID, read
from config.environment.variables import BadVariable, Environment

ROOT = Path(__file__).resolve().parents[3]
WHOLE = {"OIDC_ISSUER": "https://id.example.com", "OIDC_CLIENT_ID": "skerry", "OIDC_CLIENT_SECRET": "s3cret"}


def read_from(monkeypatch, production: bool = True, **variables: str) -> OpenID | None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return read(Environment(), production=production)


def test_there_is_none_without_variables(monkeypatch):
    assert read_from(monkeypatch) is None
    assert read_from(monkeypatch, OIDC_NAME="Example ID", OIDC_ISSUER="") is None


def test_three_are_needed_and_the_others_have_defaults(monkeypatch):
    found = read_from(monkeypatch, **WHOLE)
    assert found == OpenID("https://id.example.com", "skerry", "s3cret")
    assert (found.claim, found.authentication_type, found.scopes) == (
        "sub",
        "github",
        ("openid", "profile", "email"),
    )
    assert "s3cret" not in repr(found)


def test_all_can_be_set(monkeypatch):
    found = read_from(
        monkeypatch, **WHOLE, OIDC_NAME="Example ID", OIDC_SCOPES="openid groups", OIDC_CLAIM="oid",
        OIDC_AUTHENTICATION_TYPE="example", OIDC_TIMEOUT="2.5",
    )  # fmt: skip
    assert (found.name, found.scopes, found.claim) == ("Example ID", ("openid", "groups"), "oid")
    assert (found.authentication_type, found.timeout) == ("example", 2.5)


@pytest.mark.parametrize("left_out", sorted(WHOLE))
def test_a_part_of_it_is_an_error_that_names_the_rest(monkeypatch, left_out):
    with pytest.raises(BadVariable, match=left_out):
        read_from(monkeypatch, **{**WHOLE, left_out: ""})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OIDC_ISSUER", "id.example.com"),
        ("OIDC_ISSUER", "http://id.example.com"),
        ("OIDC_ISSUER", "https://id.example.com?x=1"),
        ("OIDC_ISSUER", "https://id.example.com/" + "x" * 255),
        ("OIDC_SCOPES", "profile email"),
        ("OIDC_AUTHENTICATION_TYPE", "password"),
        ("OIDC_AUTHENTICATION_TYPE", "Example ID"),
        ("OIDC_NAME", " "),
        ("OIDC_CLAIM", " "),
        ("OIDC_TIMEOUT", "0"),
    ],
)
def test_an_invalid_setting_is_refused_by_name(monkeypatch, name, value):
    with pytest.raises(BadVariable, match=name):
        read_from(monkeypatch, **{**WHOLE, name: value})


def test_a_provider_on_the_way_to_production_needs_no_certificate(monkeypatch):
    assert read_from(monkeypatch, production=False, **{**WHOLE, "OIDC_ISSUER": "http://127.0.0.1:1/o"}) is not None


def test_nothing_starts_with_a_part_of_it(process_env):
    command = [sys.executable, "-c", "import config.wsgi"]
    run = subprocess.run(
        command, cwd=ROOT, env={**process_env, "OIDC_ISSUER": "https://x"}, capture_output=True, text=True
    )
    assert run.returncode != 0
    assert run.stderr.startswith("OIDC_CLIENT_ID: signing in with a provider needs")
    assert run.stderr.count("\n") == 1
