"""Closing the account: who may, what keeps it open, what ends, and races with requests that add an object."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction

from accounts.actors import Actor
from accounts.entities import kinds
from accounts.models import Account, Event, ResourceUse, TrustedDevice, User
from accounts.models.accounts import CLOSED
from accounts.services.closing import close_account
from accounts.services.grants import set_grants
from accounts.services.suspension import set_account_active
from compute.services.domains import domains
from compute.services.domains.domains import DomainSpec
from compute.services.images.images import begin_upload
from compute.services.nodebalancers import nodebalancers
from compute.services.nodebalancers.nodebalancers import NodeBalancerSpec
from compute.services.volumes import volumes
from compute.services.volumes.volumes import VolumeSpec
from config.errors import Denied, DomainError, Invalid
from managed.services import services
from managed.services.services import ServiceSpec
from regions.models import Region
from tests.compute.at_consoles import signed_in
from tests.factories import (
    DomainFactory,
    FirewallFactory,
    GlobalGrantsFactory,
    ImageFactory,
    InstanceFactory,
    NodeBalancerFactory,
    ServiceFactory,
    TrustedDeviceFactory,
    VolumeFactory,
)
from tests.racing import held_up
from tests.world import World

FACTORIES = {
    "compute": InstanceFactory,
    "volume": VolumeFactory,
    "nodebalancer": NodeBalancerFactory,
    "domain": DomainFactory,
    "image": ImageFactory,
    "managed_service": ServiceFactory,
}


def actor_of(user: User, **grants: Any) -> Actor:
    return Actor(user.account_id, user.pk, user.username, user.restricted, **grants)


def set_active(account: Account, active: bool) -> None:
    """Suspend or restore the account as staff do."""
    account.refresh_from_db()
    set_account_active(Actor(account.pk, username="staff", is_staff=True), account, active, "They asked.")


def test_it_closes_signs_everybody_out_and_says_so(owner, account, api):
    other = GlobalGrantsFactory(user__account=account, user__username="kari").user
    browsers = [signed_in(owner), signed_in(other)]
    TrustedDeviceFactory(user=owner)
    TrustedDeviceFactory(user=other)
    stranger_s = TrustedDeviceFactory()

    close_account(actor_of(owner), "Too expensive.")

    account.refresh_from_db()
    assert (account.standing, account.closed_by, account.closing_comment) == ("closed", "owner", "Too expensive.")
    assert account.closed is not None
    assert Event.objects.get().message == "owner closed the account: Too expensive."
    assert Event.objects.get().action == "account_update"
    assert api.get("/v4/profile").status_code == 401
    assert [browser.get("/home/profile").status_code for browser in browsers] == [302, 302]
    assert list(TrustedDevice.objects.all()) == [stranger_s], "Browsers are forgotten."

    set_active(account, True)
    assert (account.standing, account.closed_by, account.closing_comment) == ("active", "", "")
    assert not ResourceUse.objects.get(account=account).closed
    assert api.get("/v4/profile").status_code == 200
    assert [browser.get("/home/profile").status_code for browser in browsers] == [302, 302], (
        "Sessions end for good."
    )


def test_a_restricted_user_needs_the_grant(restricted, account):
    with pytest.raises(Denied):
        close_account(actor_of(restricted))
    set_grants(actor_of(restricted), restricted, {"cancel_account": True}, {})
    Event.objects.all().delete()
    close_account(actor_of(restricted, grants=frozenset({"cancel_account"})))
    assert Event.objects.get().message == "restricted closed the account."


def test_every_kind_that_costs_or_serves_has_a_test():
    assert {kind.name for kind in kinds() if kind.blocks_closing} == FACTORIES.keys()


def test_the_refusal_names_all_objects_that_are_left(owner, account):
    for factory in FACTORIES.values():
        factory(account=account)
        factory()
    VolumeFactory(account=account)
    FirewallFactory(account=account)
    with pytest.raises(Invalid) as refused:
        close_account(actor_of(owner))
    assert str(refused.value) == (
        "Delete these objects first: 1 instance, 2 volumes, 1 load balancer, 1 domain, 1 image, 1 managed service."
    )
    account.refresh_from_db()
    assert account.is_active
    assert not Event.objects.exists()


def test_it_closes_once_and_no_suspended_account(owner, account):
    close_account(actor_of(owner))
    with pytest.raises(Invalid, match="was closed by one of its users"):
        close_account(actor_of(owner))
    set_active(account, True)
    set_active(account, False)
    with pytest.raises(Invalid, match="This account is suspended"):
        close_account(actor_of(owner))
    assert Account.objects.get(pk=account.pk).standing == "suspended"


def test_staff_suspend_a_closed_account(owner, account):
    close_account(actor_of(owner), "Caught.")
    set_active(account, False)
    account.refresh_from_db()
    assert (account.standing, account.closed_by, account.closing_comment) == ("suspended", "", "")
    assert [event.message for event in Event.objects.order_by("pk")] == [
        "owner closed the account: Caught.",
        "The account is suspended: They asked.",
    ]
    with pytest.raises(Invalid, match="The account is suspended already"):
        set_active(account, False)


# --- races --------------------------------------------------------------------------------------------------------

CREATES: dict[str, Callable[[World], Any]] = {
    "1 instance": lambda world: world.create(image=None),
    "1 volume": lambda world: volumes.create(world.actor, VolumeSpec(label="one", region=world.region.pk)),
    "1 load balancer": lambda world: nodebalancers.create(world.actor, NodeBalancerSpec(region=world.region.pk)),
    "1 image": lambda world: begin_upload(world.actor, label="one", description="", region=world.region.pk),
    "1 domain": lambda world: domains.create(
        world.actor, DomainSpec({"label": "example.org", "type": "master", "soa_email": "a@example.org"})
    ),
    "1 managed service": lambda world: services.create(
        world.actor,
        ServiceSpec({"label": "one", "service_type": "tcp", "address": "example.org:80", "timeout": 3}),
    ),
}
"""Requests that add an object, by the object as refusals name it."""


def in_thread(action: Callable[[], Any]) -> tuple[threading.Thread, list[str]]:
    """Start the action in a thread. The list gets the reason of its refusal, or an empty text."""
    reasons: list[str] = []

    def run() -> None:
        try:
            action()
            reasons.append("")
        except DomainError as refusal:
            reasons.append(str(refusal))
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread, reasons


@pytest.fixture
def crowded(world: World) -> World:
    """A world in which each of `CREATES` works."""
    Region.objects.update(capabilities=["Computes", "Block Storage", "NodeBalancers"])
    Account.objects.update(managed=True)
    return world


@pytest.mark.django_db(transaction=True)
def test_a_grant_that_is_taken_away_meanwhile_closes_nothing(crowded):
    user = GlobalGrantsFactory(user__account=crowded.account, cancel_account=True).user
    with transaction.atomic():
        set_grants(crowded.actor, user, {"cancel_account": False}, {})
        thread, reasons = in_thread(lambda: close_account(actor_of(user, grants=frozenset({"cancel_account"}))))
        assert held_up()
    thread.join()
    assert reasons == ["Unauthorized"]
    assert Account.objects.get(pk=crowded.account.pk).is_active


@pytest.mark.django_db(transaction=True)
def test_an_object_that_is_being_added_keeps_the_account_open(crowded):
    found = {}
    for name, create in CREATES.items():
        with transaction.atomic():
            made = create(crowded)
            thread, reasons = in_thread(lambda: close_account(crowded.actor))
            assert held_up(), name
        thread.join()
        found[name] = reasons
        made.delete()
    assert found == {name: [f"Delete these objects first: {name}."] for name in CREATES}


@pytest.mark.django_db(transaction=True)
def test_no_object_is_added_to_an_account_that_is_being_closed(crowded):
    found = {}
    for name, create in CREATES.items():
        with transaction.atomic():
            close_account(crowded.actor)
            thread, reasons = in_thread(lambda create=create: create(crowded))
            assert held_up(), name
        thread.join()
        found[name] = reasons
        set_active(crowded.account, True)
    assert found == {name: [CLOSED] for name in CREATES}
