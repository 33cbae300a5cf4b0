"""A database of an earlier release is migrated, read, and changed."""

from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection
from django.db.models.functions import Now

from accounts.models import OAuthAccessToken, User
from compute.drivers.simulated import SimulatedDriver
from compute.models import Instance, Job, StackScript, StackScriptRevision
from compute.worker import engine
from compute.worker.drivers import anywhere, configured
from tests.client import APIClient
from tests.config.api.routes import Route, routes
from tests.databases import another_database
from tests.factories import token_of
from tests.upgrades import KEY

DATABASES = sorted(Path(__file__).with_name("databases").glob("*.sql"))
LISTS = [route for route in routes() if route.action == "list" and not route.parameters]
PART_LISTS = [route for route in routes() if route.action == "list" and route.parameters]


@pytest.fixture(scope="module", params=DATABASES, ids=lambda path: path.stem)
def upgraded(request, django_db_setup, django_db_blocker):
    """Connect the default connection to a copy of the database, migrated to the present."""
    with django_db_blocker.unblock(), another_database() as name:
        params = connection.get_connection_params()
        where = {key: params[key] for key in ("host", "port", "user", "password") if params.get(key)}
        with psycopg.connect(dbname=name, **where, autocommit=True) as server:
            server.execute(request.param.read_text())
        call_command("migrate", verbosity=0, interactive=False)
        yield


@pytest.fixture
def keys(settings) -> None:
    settings.ENCRYPTION_KEYS = [KEY]
    settings.DRIVER_SCALE = 0


def owner() -> User:
    """Return the user with the most data: all personal objects, in the account with the rest."""
    return User.objects.filter(account__company="World", restricted=False).order_by("pk").last()


def test_there_is_one():
    assert DATABASES


def test_nothing_is_left_to_migrate(upgraded):
    call_command("migrate", check_unapplied=True, verbosity=0)
    call_command("makemigrations", check_changes=True, dry_run=True, verbosity=0)


def test_every_list_can_be_read(upgraded, keys):
    client = APIClient(token_of(owner()))
    empty = [route.path for route in LISTS if not rows_of(client, route, {})]
    # apps are listed as long as they have a live token, and a database may have apps without one
    ended = [] if OAuthAccessToken.objects.exists() else ["/v4/profile/apps"]
    assert empty == ended, "lists whose rows the upgrade lost"


def test_every_list_of_parts_can_be_read(upgraded, keys):
    client, values = APIClient(token_of(owner())), identities()
    for route in PART_LISTS:
        if set(route.parameters) <= set(values):
            rows_of(client, route, values)


def test_scripts_of_accounts_have_their_text_as_a_revision(upgraded):
    scripts = list(StackScript.objects.exclude(account=None))
    assert scripts
    for script in scripts:
        revision = script.revisions.get()
        assert (revision.number, revision.script, revision.created) == (1, script.script, script.updated)
    assert not StackScriptRevision.objects.filter(stackscript__account=None).exists()


def test_jobs_that_were_under_way_are_finished(upgraded, keys):
    live = list(Job.objects.filter(state__in=Job.LIVE))
    assert len(live) >= 2
    Job.objects.update(deadline_at=Now() + timedelta(hours=1))
    hypervisor = configured.at(anywhere("simulated"))
    assert isinstance(hypervisor, SimulatedDriver)
    for job in live:
        for _ in range(20):
            engine.run(job.pk, hypervisor)
            job.refresh_from_db()
            if job.finished_at is not None:
                break
            Job.objects.filter(pk=job.pk, finished_at=None).update(run_at=Now(), lease_until=None)
        assert (job.state, job.error) == ("done", "")
    assert not Instance.objects.filter(status__in=("provisioning", "booting")).exists()


def rows_of(client: APIClient, route: Route, values: dict) -> list:
    response = client.get(route.fill(values))
    assert response.status_code == 200, (route, response.content)
    body = response.json()
    rows = body.get("data", body.get("results", [])) if isinstance(body, dict) else body
    for each in rows:
        assert each is not None
    return rows


def identities() -> dict:
    """Return values for the path parameters of the account's nested objects."""
    account = owner().account
    return {
        "compute_id": account.instances.order_by("pk").first().pk,
        "domain_id": account.domains.first().pk,
        "firewall_id": account.firewalls.first().pk,
        "nodebalancer_id": account.nodebalancers.first().pk,
        "ticket_id": account.tickets.first().pk,
    }
