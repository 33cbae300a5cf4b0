"""The addresses of an instance: adding, naming and deleting one, and IPv6 ranges."""

from functools import cached_property
from typing import Any

from django import forms
from django.http import Http404

from compute.models import Address, IPv6Range
from compute.pages.base import ConfirmationPage, InstanceForm, InstanceFormPage, InstancePage
from compute.pages.networking.networking import moving_reason
from compute.serializers.networking.addresses import (
    AddressRequest,
    IPv6RangeRequest,
    RdnsRequest,
    range_spec,
    reverse_name,
)
from compute.services.networking import assign, ranges
from config.pages.forms import ChoiceField, TextField

TAB = "instance-network"
RANGE_SIZES = ((64, "/64: one network"), (56, "/56: 256 networks of 64 bits"))
NEXT_BOOT = "The instance can use the address after its next boot."


class NetworkPage(InstanceFormPage):
    """A page about the addresses of an instance, which cannot change while the instance moves."""

    tab = TAB

    def unavailable(self) -> str:
        return moving_reason(self.instance.status)


class AddressKindField(ChoiceField):
    """Whether a new address is public."""

    def __init__(self, **kwargs: Any):
        choices = (
            ("true", "Public: reached from the internet"),
            ("false", "Private: reached within the region. An instance has one at most."),
        )
        radios = forms.RadioSelect(attrs={"class": "form-check-input"})
        super().__init__(label="Kind", widget=radios, choices=choices, **kwargs)


def address_body(body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a request for an address, from the values of a form with an `AddressKindField`."""
    body = {**body, "type": "ipv4"}
    return {**body, "public": body["public"] == "true"} if "public" in body else body


class AddressForm(InstanceForm):
    body = AddressRequest
    public = AddressKindField()

    def as_body(self) -> dict[str, Any]:
        return address_body(super().as_body())


class NewAddressView(NetworkPage):
    """``/home/instances/<id>/addresses/new``: another IPv4 address."""

    form_class = AddressForm
    initial = {"public": "true"}
    operations = frozenset({"compute_instances_ips_create"})
    heading = "Add an IPv4 address"
    introduction = NEXT_BOOT
    verb = "Add address"

    def perform(self, form: AddressForm) -> str:
        made = assign.add(self.actor, self.instance, form.given.get("public"), form.given.problems)
        return f"The address {made} was added to the instance. {NEXT_BOOT}"


class AddressPage(InstancePage):
    """A page about one IPv4 address of the instance; others are answered 404."""

    part_noun = "address"

    @cached_property
    def row(self) -> Address:
        found = Address.objects.filter(instance=self.instance, address=self.kwargs["address"]).first()
        if found is None:
            raise Http404
        return found


class RdnsForm(InstanceForm):
    body = RdnsRequest
    rdns = TextField(
        label="Reverse name",
        help_text="The name must already resolve to the address. If empty, the platform's default name is used.",
    )

    def as_body(self) -> dict[str, Any]:
        return {"rdns": self.cleaned_data["rdns"] or None}


class ReverseNameView(AddressPage, NetworkPage):
    """``/home/instances/<id>/addresses/<address>/rdns``."""

    form_class = RdnsForm
    lanes = {"post": "outside"}
    operations = frozenset({"compute_instances_ips_update"})
    expensive = True
    heading = "Reverse name of {page.row}"
    verb = "Save"

    def get_initial(self) -> dict[str, Any]:
        return {"rdns": reverse_name(self.row.address, self.row.public, self.row.rdns)}

    def perform(self, form: RdnsForm) -> str:
        name = form.checked()["rdns"]
        changed = assign.rename(self.actor, self.row, name)
        name = reverse_name(changed.address, changed.public, changed.rdns)
        return f"The reverse name of {changed} is {name}."


class DeleteAddressView(AddressPage, NetworkPage, ConfirmationPage):
    """``/home/instances/<id>/addresses/<address>/delete``."""

    operations = frozenset({"compute_instances_ips_destroy"})
    heading = "Delete {page.row}"
    introduction = "The instance loses the address, and another customer may get it."
    verb = "Delete address"

    def perform(self, form: forms.Form) -> str:
        assign.delete(self.actor, self.row)
        return f"The address {self.row} was deleted."


# --- IPv6 ranges ----------------------------------------------------------------------------------------


class RangeForm(InstanceForm):
    body = IPv6RangeRequest
    prefix_length = ChoiceField(label="Size", number=True, choices=RANGE_SIZES)

    def as_body(self) -> dict[str, Any]:
        return {**super().as_body(), "compute_id": self.instance.pk}


class NewRangeView(NetworkPage):
    """``/home/instances/<id>/ranges/new``."""

    form_class = RangeForm
    renamed = {"compute_id": "prefix_length"}
    operations = frozenset({"networking_ipv6_ranges_create"})
    heading = "Create an IPv6 range"
    introduction = "The range is routed to the SLAAC address of the instance."
    verb = "Create range"

    def perform(self, form: RangeForm) -> str:
        made = ranges.create(self.actor, range_spec(form.given), form.given.problems)
        return f"The range {made} is routed to the instance."


class DeleteRangeView(NetworkPage, ConfirmationPage):
    """``/home/instances/<id>/ranges/<id>/delete``."""

    part_noun = "range"
    operations = frozenset({"networking_ipv6_ranges_destroy"})
    heading = "Delete {page.range}"
    introduction = "The addresses of the range stop working."
    verb = "Delete range"

    @cached_property
    def range(self) -> IPv6Range:
        own = IPv6Range.objects.writable_by(self.actor).filter(kind=IPv6Range.Kind.RANGE, instance=self.instance)
        found = own.filter(pk=self.kwargs["range"]).first()
        if found is None:
            raise Http404
        return found

    def perform(self, form: forms.Form) -> str:
        ranges.delete(self.actor, self.range)
        return f"The range {self.range} was deleted."
