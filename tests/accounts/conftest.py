"""Shared fixtures of the tests of accounts."""

from tests.accounts.apps import app, spa, web
from tests.accounts.providers import forger, provider, provider_process
from tests.accounts.signing_in import _one_moment, forged, limit, tied, with_password

__all__ = [
    "_one_moment", "app", "forged", "forger", "limit", "provider", "provider_process", "spa", "tied", "web",
    "with_password",
]  # fmt: skip
