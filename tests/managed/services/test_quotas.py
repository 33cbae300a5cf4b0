"""Quotas of services, contacts and credentials."""

import pytest

from accounts.actors import Actor
from accounts.models import Event
from managed.models import Contact, Credential, Service
from managed.services import contacts, credentials, services
from managed.services.credentials import Secret
from managed.services.services import ServiceSpec
from tests.factories import ContactFactory, CredentialFactory, ServiceFactory
from tests.racing import done, race

BODIES = {
    "services": {"service_type": "tcp", "label": "database", "address": "203.0.113.7:5432", "timeout": 5},
    "contacts": {"name": "On call", "email": "call@example.com"},
    "credentials": {"label": "root", "password": "a-credential"},
}
FACTORIES = {"services": ServiceFactory, "contacts": ContactFactory, "credentials": CredentialFactory}


@pytest.fixture(autouse=True)
def _two_of_each(settings):
    settings.MANAGED_SERVICES = settings.MANAGED_CONTACTS = settings.MANAGED_CREDENTIALS = 2


@pytest.mark.django_db
@pytest.mark.parametrize("what", BODIES)
def test_an_account_has_as_many_as_it_may(api, account, what):
    FACTORIES[what](), FACTORIES[what]()  # other accounts' rows do not count
    kept = FACTORIES[what](account=account)
    assert api.post(f"/v4/managed/{what}", BODIES[what]).status_code == 200
    recorded = Event.objects.count()
    answer = api.post(f"/v4/managed/{what}", {**BODIES[what], "label": "one more"})
    assert answer.status_code == 400
    reason = f"An account has at most 2 managed {what}: ask support for more."
    assert answer.json() == {"errors": [{"field": None, "reason": reason}]}
    assert (api.get(f"/v4/managed/{what}").json()["results"], Event.objects.count()) == (2, recorded)
    assert api.delete(f"/v4/managed/{what}/{kept.pk}").status_code == 200
    assert api.post(f"/v4/managed/{what}", {**BODIES[what], "label": "one more"}).status_code == 200


def add_service(actor: Actor, number: int) -> Service:
    values = {**BODIES["services"], "label": f"database {number}"}
    return services.create(actor, ServiceSpec(values))


def add_contact(actor: Actor, number: int) -> Contact:
    return contacts.create(actor, {"name": f"Contact {number}", "email": "call@example.com"})


def add_credential(actor: Actor, number: int) -> Credential:
    return credentials.create(actor, f"credential {number}", Secret("root", "a-credential"))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("add", [add_service, add_contact, add_credential])
def test_simultaneous_additions_stay_within_the_quota(account, owner, add):
    actor = Actor(account.pk, owner.pk, "owner")
    made = done(race(lambda number: add(actor, number)))
    assert len(made) == 2
    assert type(made[0]).objects.filter(account=account).count() == Event.objects.count() == 2
