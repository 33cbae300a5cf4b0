"""Staff and others before the admin."""

from tests.config.admin.fixtures import *  # noqa: F403
