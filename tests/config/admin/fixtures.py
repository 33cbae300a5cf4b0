"""Staff and other users of the admin, on the small world of compute's tests."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import Group, Permission
from django.db import transaction
from django.db.models.functions import Now
from django.test import Client
from django.utils.timezone import now

from accounts.models import Authorization, Login, OAuthAccessToken, OAuthRefreshToken, SecurityKey, TokenLink, User
from accounts.services import outbox
from compute.jobs import queue
from compute.models import (
    VLAN,
    Address,
    AddressPool,
    AddressShare,
    Alarm,
    Backup,
    ConsoleSession,
    Drift,
    Heartbeat,
    Instance,
    IPv6Range,
    Job,
    PacketFilter,
    RangeShare,
)
from compute.services import heartbeats, missing_processes
from compute.services.networking.firewalls import delivery
from compute.worker import ending, engine
from tests.compute.memory_driver import MemoryDriver
from tests.factories import (
    FirewallFactory,
    HostMigrationFactory,
    NodeBalancerNodeFactory,
    OAuthClientFactory,
    PersonalTokenFactory,
    RecordFactory,
    StackScriptFactory,
    TicketFactory,
    TrustedDeviceFactory,
    UsageStatementFactory,
    VolumeFactory,
)
from tests.managed.one_of_each import one_of_each
from tests.world import World

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
]
"""The fixtures. The `conftest.py` of each app's `admin` folder imports all of them, so that they apply only
there."""


@pytest.fixture
def admin(staff: User) -> Client:
    """A browser in which the staff user is logged in."""
    client = Client()
    client.force_login(staff)
    return client


@pytest.fixture
def onlooker(db) -> Client:
    """A browser of staff with every permission to view, and no other."""
    user = User.objects.create_user("onlooker", "look@example.com", "a-password", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def owner(world: World) -> User:
    """The world's owner."""
    return User.objects.get(pk=world.actor.user_id)


@pytest.fixture
def outsider(owner: User) -> Client:
    """A browser of a customer who has a password, and no access to the admin."""
    client = Client()
    client.force_login(owner)
    return client


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
    monkeypatch.setattr(delivery, "notify", lambda task, instance_id: None)
    return notified


@pytest.fixture(autouse=True)
def all_at_work(monkeypatch, request) -> None:
    """Create a worker and a clock that seem to run, however long the test takes."""
    monkeypatch.setattr(missing_processes, "starting", lambda: False)
    if "django_db" in request.keywords:
        request.getfixturevalue("db")
        for kind, queues in (("worker", ["celery", "clock"]), ("clock", [])):
            heartbeats.record(heartbeats.Process(kind, "1.0"), queues)
        Heartbeat.objects.update(seen=Now() + timedelta(hours=1))


@pytest.fixture
def running(world: World, driver: MemoryDriver) -> Instance:
    """An instance that was provisioned and booted."""
    instance = world.create(label="web-1", tags=("production",), private_ip=True)
    for _ in range(3):
        engine.run(instance.jobs.get().pk, driver)
    instance.refresh_from_db()
    assert instance.status == "running", Job.objects.get().error
    return instance


@pytest.fixture(autouse=True)
def folder(settings, tmp_path) -> Path:
    """The folder of files that customers send with tickets."""
    settings.ATTACHMENTS_DIR = tmp_path
    return tmp_path


@pytest.fixture
def everything(world: World, running: Instance, staff: User) -> Instance:
    """Create at least one object of each kind that has a page, around the running instance."""
    one_of_each(world.account, running)
    account, user = world.account, User.objects.get(username=world.actor.username)
    PersonalTokenFactory(user=user)
    app = OAuthClientFactory(account=account, name="Terraform")
    later = now() + timedelta(hours=2)
    access = OAuthAccessToken.objects.create(user=user, application=app, token="a", expires=later, scope="*")
    OAuthRefreshToken.objects.create(user=user, application=app, token="r", access_token=access)
    Authorization.objects.create(user=user, client=app, scopes="*")
    TrustedDeviceFactory(user=user)
    TokenLink.objects.create(user=user, digest="ab" * 32, label="ci", scopes="*", expiry=later)
    SecurityKey.objects.create(user=user, name="blue one", credential=b"id", public_key=b"point")
    Login.objects.create(account=account, user=user, username=user.username, restricted=False, ip="198.51.100.7")
    TicketFactory(account=account, opened_by=user.username)
    with transaction.atomic():
        outbox.text("+4712345678", "123456 is your code.")
    Group.objects.create(name="Support")
    LogEntry.objects.log_actions(staff.pk, [running], CHANGE, "Looked at.", single_object=True)
    Backup.objects.create(
        instance=running, account=account, region=world.region, type="snapshot", status="successful"
    )
    HostMigrationFactory(instance=running)
    Drift.objects.create(host=running.host, kind="wrong_size", name="skerry-1", instance=running, seen=2)
    VolumeFactory(account=account, instance=running)
    RecordFactory(domain__account=account)
    NodeBalancerNodeFactory(config__nodebalancer__account=account, instance=running)
    FirewallFactory(account=account, on=running)
    PacketFilter.objects.get_or_create(instance=running)  # an instance with closed mail ports has one
    StackScriptFactory(account=account)
    VLAN.objects.create(account=account, region=world.region, label="back")
    AddressShare.objects.create(address=Address.objects.filter(instance=running).first(), instance=running)
    pool = AddressPool.objects.create(
        region=world.region, kind="routed", network="2001:db8:5000::/48", gateway="fe80::1"
    )
    block = IPv6Range.objects.create(
        account=account, region=world.region, pool=pool, range="2001:db8:5000::", prefix=64, instance=running
    )
    RangeShare.objects.create(range=block, instance=running)
    Alarm.objects.create(subject="clock", text="No clock runs")
    ConsoleSession.objects.create(instance=running, user=user, ip="198.51.100.7")
    UsageStatementFactory(account=account)
    return running
