"""One object of each kind of managed, around an account and its compute, for tests of pages."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.timezone import now

from accounts.actors import Actor
from accounts.models import Account
from compute.models import Instance, Sample
from compute.services.stats.sampling import COUNTERS
from config.encryption import decrypt_json
from managed.models import ComputeSettings, Contact, Credential, Decryption, Issue, KeyPair, Measurement, Service
from managed.services import keys
from tests.factories import ContactFactory, CredentialFactory, IssueFactory, ServiceFactory

USERNAME, PASSWORD = "shop-admin-7", "Tr0ub4dor & <3> the shop"


@dataclass
class Watched:
    """The managed objects of an account. The service is down, and part of the issue."""

    account: Account
    service: Service
    issue: Issue
    credential: Credential
    contact: Contact
    key: KeyPair
    settings: ComputeSettings

    @property
    def private_key(self) -> str:
        return decrypt_json(self.key.encrypted)["private"]

    def secrets(self) -> list[str]:
        """Return all secrets, and their stored forms."""
        lines = self.private_key.splitlines()[1:-1]
        encrypted = [bytes(each.encrypted).decode() for each in (self.credential, self.key)]
        return [USERNAME, PASSWORD, PASSWORD.replace("&", "&amp;"), *lines, *encrypted]


def one_of_each(account: Account, instance: Instance) -> Watched:
    account.managed = True
    account.save(update_fields=["managed"])
    credential = CredentialFactory(account=account, label="Shop", username=USERNAME, password=PASSWORD)
    service = ServiceFactory(
        account=account, label="web shop", address="https://shop.example.com/health", body="all is well",
        consultation_group="on-call", notes="Restart the queue first.",
    )  # fmt: skip
    service.credentials.add(credential)
    issue = IssueFactory(account=account, services=[service.pk])
    standing = {"status": "problem", "issue": issue, "failures": 5, "error": "it answered 503", "checked_at": now()}
    Service.objects.filter(pk=service.pk).update(**standing, next_check_at=now() + timedelta(minutes=1))
    service.refresh_from_db()
    keys.public_key(Actor.platform(account.pk))
    key = KeyPair.objects.get(account=account)
    Decryption.objects.create(
        account=account, credential=credential, label="Shop", username="early-bird", reason="It was down before."
    )
    return Watched(
        account,
        service,
        issue,
        credential,
        ContactFactory(account=account, name="Kari", group="on-call", phone_primary="+47 22 33 44 55"),
        key,
        ComputeSettings.objects.create(instance=instance, user="deploy", port=2222),
    )


def measure(service: Service, at: datetime, *found: float | None, every: timedelta = timedelta(minutes=1)) -> None:
    """Write checks from `at` on, one after the other. `found` are their milliseconds, or None for a failure."""
    Measurement.objects.bulk_create(
        Measurement(service=service, at=at + n * every, failed=int(took is None), milliseconds=took)
        for n, took in enumerate(found)
    )


def sample(instance: Instance, at: datetime, **values: float) -> None:
    """Write a sample of an instance. Other counters are 0."""
    Sample.objects.create(instance=instance, at=at, **{**dict.fromkeys(COUNTERS, 0.0), **values})
