"""Staff and others before the admin."""

from tests.config.admin.fixtures import (
    admin,
    all_at_work,
    driver,
    everything,
    folder,
    notified,
    onlooker,
    outsider,
    owner,
    running,
)

__all__ = [
    "admin",
    "all_at_work",
    "driver",
    "everything",
    "folder",
    "notified",
    "onlooker",
    "outsider",
    "owner",
    "running",
]  # fmt: skip
