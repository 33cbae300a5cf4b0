"""The OpenAPI document passes the recommended rules of two linters, without a warning."""

import json

import pytest

from tests.client import DOCUMENT
from tests.clients.conftest import HERE

pytestmark = pytest.mark.clients


def test_redocly_finds_nothing(node):
    done = node("redocly", "lint", DOCUMENT, "--extends", "recommended", "--format", "json")
    found = json.loads(done.stdout[done.stdout.index('{\n  "totals"') :].rpartition("}")[0] + "}")
    assert found["totals"] == {"errors": 0, "warnings": 0, "ignored": 0}, found["problems"]


def test_spectral_finds_nothing(node):
    done = node("spectral", "lint", "--ruleset", HERE / "spectral.yaml", "--fail-severity", "hint", DOCUMENT)
    assert done.returncode == 0, done.stdout
    assert "No results" in done.stdout
