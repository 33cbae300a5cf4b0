"""Pages have no button for a verb that does not apply to the object."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.utils.timezone import now

from compute.models import AddressPool, Host, Instance, Job
from managed.models import Service
from tests.config.admin.pages import page_address
from tests.factories import AddressPoolFactory, HostFactory, HostMigrationFactory

pytestmark = pytest.mark.django_db


def offered(admin, obj) -> set[str]:
    """Return the labels of the buttons on the page of an object."""
    response = admin.get(page_address(obj))
    assert response.status_code == 200
    return {button.label for button in response.context["verbs"]}


def test_of_hosts(admin, running):
    empty, always = HostFactory(region=running.region), {"Compare with the database"}
    assert offered(admin, empty) == {"Begin maintenance"} | always
    assert offered(admin, running.host) == {"Begin maintenance", "Drain"} | always
    Host.objects.update(enabled=False, maintenance=Now())
    assert offered(admin, empty) == {"End maintenance"} | always
    HostMigrationFactory(instance=running)
    assert offered(admin, running.host) == {"End maintenance", "Drain", "Stop draining"} | always


def test_of_instances(admin, running):
    assert offered(admin, running) == {"Reboot", "Shut down", "Migrate", "Delete"}
    Instance.objects.update(status="offline")
    assert offered(admin, running) == {"Boot", "Reboot", "Migrate", "Delete"}


def test_of_jobs(admin, running):
    job = running.jobs.get()
    assert offered(admin, job) == set()
    Job.objects.update(state="active", finished_at=None)
    assert offered(admin, job) == {"Run now", "Cancel"}
    Job.objects.update(lease_until=Now() + timedelta(minutes=1), cancelled=True)
    assert offered(admin, job) == set()
    Job.objects.update(lease_until=None, waits_for=running.host)
    assert offered(admin, job) == set()


def test_of_address_pools(admin, running):
    used = AddressPool.objects.filter(addresses__instance=running).first()
    assert offered(admin, used) == set()
    assert offered(admin, AddressPoolFactory(region=running.region)) == {"Delete"}


def test_of_services(admin, everything):
    service = Service.objects.latest("pk")
    Service.objects.update(status="ok", issue=None)
    assert offered(admin, service) == {"Check now", "Disable"}
    Service.objects.update(lease_until=Now() + timedelta(minutes=1))
    assert offered(admin, service) == {"Disable"}
    Service.objects.update(lease_until=None)
    type(service.account).objects.update(managed=False)
    assert offered(admin, service) == {"Disable"}


def test_of_tokens_of_apps(admin, everything):
    user = everything.account.users.get()
    access, refresh = user.accounts_oauthaccesstoken.get(), user.accounts_oauthrefreshtoken.get()
    assert offered(admin, access) == offered(admin, refresh) == {"Revoke"}
    type(access).objects.update(expires=now())
    type(refresh).objects.update(revoked=now())
    assert offered(admin, access) == offered(admin, refresh) == set()
