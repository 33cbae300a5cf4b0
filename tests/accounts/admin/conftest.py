"""Staff and others before the admin."""

from tests.config.admin.fixtures import (
    admin,
    all_at_work,
    driver,
    everything,
    folder,
    onlooker,
    outsider,
    rung,
    running,
    world,
)

__all__ = [
    "admin", "all_at_work", "driver", "everything", "folder", "onlooker", "outsider", "rung", "running", "world",
]  # fmt: skip
