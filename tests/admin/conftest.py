"""Staff and others before the admin, over the small world of compute's tests."""

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from accounts.models import User
from compute.jobs import engine, queue
from compute.models import Instance, Job
from tests.compute.jobs.memory import MemoryDriver
from tests.world import World, world

__all__ = ["world"]


@pytest.fixture
def admin(staff: User) -> Client:
    """A browser in which the staff user is logged in."""
    client = Client()
    client.force_login(staff)
    return client


@pytest.fixture
def onlooker(db) -> Client:
    """Staff with every permission to view, and none to do anything."""
    user = User.objects.create_user("onlooker", "look@example.com", "a-password", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def outsider(world: World) -> Client:
    """A customer who has a password, and no business here."""
    client = Client()
    client.force_login(User.objects.get(username=world.actor.username))
    return client


@pytest.fixture
def driver() -> MemoryDriver:
    return MemoryDriver()


@pytest.fixture(autouse=True)
def rung(monkeypatch) -> list[int]:
    """The bells that were rung, which no worker hears."""
    heard: list[int] = []
    monkeypatch.setattr(queue, "ring", heard.append)
    monkeypatch.setattr(engine, "ring", heard.append)
    return heard


@pytest.fixture
def running(world: World, driver: MemoryDriver) -> Instance:
    """An instance that was provisioned and booted."""
    instance = world.create(label="web-1", tags=("production",), private_ip=True)
    for _ in range(3):
        engine.run(instance.jobs.get().pk, driver)
    instance.refresh_from_db()
    assert instance.status == "running", Job.objects.get().error
    return instance


def messages_of(response) -> str:
    """What the page that a redirect leads to tells the user."""
    return " | ".join(str(message) for message in response.context["messages"])
