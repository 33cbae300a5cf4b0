"""Adding an address to an instance, and the forms about one address of the account.

The forms are those of the instance's own pages. They redirect to the list of all addresses.
"""

from functools import cached_property
from typing import Any

from django.http import Http404

from accounts.pages.objects import NewObjectForm, NewObjectPage
from compute.models import Instance
from compute.pages.base import InstancePage
from compute.pages.choices import offer_rows, with_region
from compute.pages.networking.address_moves import MoveAddressView
from compute.pages.networking.instance_addresses import (
    NEXT_BOOT,
    AddressKindField,
    DeleteAddressView,
    ReverseNameView,
    address_body,
)
from compute.serializers.networking.addresses import AddressAllocation
from compute.services.common.locks import named_instance
from compute.services.networking import assign
from config.pages.forms import ChoiceField

NO_INSTANCE = "You have no instance that you may change."


class OnInstanceForm(NewObjectForm):
    """A form for something that one of the user's instances gets."""

    compute_id = ChoiceField(label="Instance", number=True)

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        mine = Instance.objects.writable_by(self.actor).only("label", "region").order_by("label", "pk")
        if not offer_rows(self, "compute_id", mine, with_region, ("", "choose one")):
            self.reason = NO_INSTANCE


class OnInstancePage(NewObjectPage):
    """A page that gives an instance something. The service refuses instances that the user may not change."""

    noun = "addresses"


class NewAddressForm(OnInstanceForm):
    body = AddressAllocation
    public = AddressKindField()

    def as_body(self) -> dict[str, Any]:
        return address_body(super().as_body())


class NewAddressView(OnInstancePage):
    """``/home/addresses/new``."""

    form_class = NewAddressForm
    initial = {"public": "true"}
    operations = frozenset({"networking_ips_create"})
    heading = "Add an IPv4 address"
    introduction = NEXT_BOOT
    verb = "Add address"

    def perform(self, form: NewAddressForm) -> str:
        given = form.given
        pk = given.get("compute_id")
        instance = None if pk is None else named_instance(self.actor, pk, "compute_id", given.problems)
        made = assign.add(self.actor, instance, given.get("public"), given.problems)
        return f"The address {made} was added to {made.instance}. {NEXT_BOOT}"


class AccountAddressPage(InstancePage):
    """A page of an address of the account, which names the instance. Others are answered 404."""

    noun = "addresses"
    home = ""
    tab = ""

    @cached_property
    def object(self) -> Any:
        found = self.get_queryset().filter(addresses__address=self.kwargs["address"]).first()
        if found is None:
            raise Http404
        return found


class AccountReverseNameView(AccountAddressPage, ReverseNameView):
    """``/home/addresses/<address>/rdns``."""

    operations = frozenset({"networking_ips_update"})


class AccountMoveView(AccountAddressPage, MoveAddressView):
    """``/home/addresses/<address>/move``."""


class AccountDeleteView(AccountAddressPage, DeleteAddressView):
    """``/home/addresses/<address>/delete``."""
