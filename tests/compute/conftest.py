"""Shared fixtures of the tests of compute: a world, a hypervisor in memory, and recorded notifications."""

import pytest

from compute.jobs import queue
from compute.services.networking.firewalls import delivery
from compute.worker import ending, engine
from tests.compute.memory_driver import MemoryDriver


@pytest.fixture
def driver() -> MemoryDriver:
    return MemoryDriver()


@pytest.fixture(autouse=True)
def notified(monkeypatch) -> list[int]:
    """The job ids of the notifications. They are recorded, and no worker receives them."""
    notified: list[int] = []
    monkeypatch.setattr(queue, "notify", notified.append)
    monkeypatch.setattr(engine, "notify", notified.append)
    monkeypatch.setattr(ending, "notify", notified.append)
    monkeypatch.setattr(engine, "count_waiting", lambda: 0)
    monkeypatch.setattr(delivery, "notify", lambda task, instance_id: None)
    return notified


@pytest.fixture(autouse=True)
def _own_uploads(settings, tmp_path) -> None:
    """Store each test's uploads in a folder of its own."""
    settings.UPLOADS_DIR = tmp_path / "uploads"


@pytest.fixture(autouse=True)
def _no_backoff(settings) -> None:
    settings.JOB_BACKOFF = 0
