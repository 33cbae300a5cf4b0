"""What the tests of accounts share."""

from tests.accounts.apps import app, spa, web

__all__ = ["app", "spa", "web"]
