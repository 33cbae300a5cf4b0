"""Fixtures of the admin's tests: staff and other users."""

from tests.config.admin.fixtures import *  # noqa: F403
