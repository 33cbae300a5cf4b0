"""The addresses of an instance: adding, naming and deleting one, and IPv6 ranges."""

from functools import cached_property
from typing import Any

from django import forms
from django.http import Http404

from compute.models import Address, IPv6Range
from compute.pages.base import InstancePage
from compute.pages.networking import moving_reason
from compute.pages.parts import InstanceForm, PartForm, PartPage, PartQuestion
from compute.serializers.addresses import AddressRequest, IPv6RangeRequest, RdnsRequest, range_spec, reverse_name
from compute.services.networking import assign, ranges
from config.pages.forms import ChoiceField, TextField

TAB = "instance-network"


class OfNetwork(PartPage):
    """A page about the addresses of an instance, which cannot change while the instance moves."""

    tab = TAB

    def refusal(self) -> str:
        return moving_reason(self.instance.status)


class AddressForm(InstanceForm):
    body = AddressRequest
    public = ChoiceField(
        label="Kind", widget=forms.RadioSelect(attrs={"class": "form-check-input"}),
        choices=(
            ("true", "Public: reached from the internet"),
            ("false", "Private: reached within the region. An instance has one at most."),
        ),
    )  # fmt: skip

    def as_body(self) -> dict[str, Any]:
        body = {**super().as_body(), "type": "ipv4"}
        return {**body, "public": body["public"] == "true"} if "public" in body else body


class NewAddressView(OfNetwork, PartForm):
    """``/home/instances/<id>/addresses/new``: another IPv4 address."""

    form_class = AddressForm
    initial = {"public": "true"}
    operations = frozenset({"compute_instances_ips_create"})

    def texts(self) -> dict[str, str]:
        return {
            "heading": "Add an IPv4 address",
            "verb": "Add the address",
            "introduction": "The instance gets the address when it boots.",
        }

    def perform(self, form: AddressForm) -> str:
        made = assign.add(self.actor, self.instance, form.given.get("public"), form.given.problems)
        return f"The instance has the address {made}. It gets the address when it boots."


class OfAddress(InstancePage):
    """A page about one IPv4 address of the instance; others are answered 404."""

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
        help_text="The name must lead to the address already. Left empty, it is the platform's own.",
    )

    def as_body(self) -> dict[str, Any]:
        return {"rdns": self.cleaned_data["rdns"] or None}


class ReverseNameView(OfAddress, OfNetwork, PartForm):
    """``/home/instances/<id>/addresses/<address>/rdns``."""

    form_class = RdnsForm
    lanes = {"post": "outside"}
    operations = frozenset({"compute_instances_ips_update"})

    def get_initial(self) -> dict[str, Any]:
        return {"rdns": reverse_name(self.row.address, self.row.public, self.row.rdns)}

    def texts(self) -> dict[str, str]:
        return {"heading": f"Reverse name of {self.row}", "verb": "Save"}

    def perform(self, form: RdnsForm) -> str:
        changed = assign.rename(self.actor, self.row, form.checked()["rdns"])
        name = reverse_name(changed.address, changed.public, changed.rdns)
        return f"The reverse name of {changed} is {name}."


class DeleteAddressView(OfAddress, OfNetwork, PartQuestion):
    """``/home/instances/<id>/addresses/<address>/delete``."""

    operations = frozenset({"compute_instances_ips_destroy"})

    def texts(self) -> dict[str, str]:
        return {
            "heading": f"Delete {self.row}",
            "verb": "Delete the address",
            "introduction": "The instance loses the address, and another customer may get it.",
        }

    def perform(self, form: forms.Form) -> str:
        assign.delete(self.actor, self.row)
        return f"The address {self.row} was deleted."


# --- IPv6 ranges ----------------------------------------------------------------------------------------


class RangeForm(InstanceForm):
    body = IPv6RangeRequest
    prefix_length = ChoiceField(
        label="Size", number=True, choices=((64, "/64: one network"), (56, "/56: 256 networks of 64 bits"))
    )

    def as_body(self) -> dict[str, Any]:
        return {**super().as_body(), "compute_id": self.instance.pk}


class NewRangeView(OfNetwork, PartForm):
    """``/home/instances/<id>/ranges/new``."""

    form_class = RangeForm
    renamed = {"compute_id": "prefix_length"}
    operations = frozenset({"networking_ipv6_ranges_create"})

    def texts(self) -> dict[str, str]:
        return {
            "heading": "Create an IPv6 range",
            "verb": "Create the range",
            "introduction": "The range is routed to the SLAAC address of the instance.",
        }

    def perform(self, form: RangeForm) -> str:
        made = ranges.create(self.actor, range_spec(form.given), form.given.problems)
        return f"The range {made} is routed to the instance."


class DeleteRangeView(OfNetwork, PartQuestion):
    """``/home/instances/<id>/ranges/<id>/delete``."""

    operations = frozenset({"networking_ipv6_ranges_destroy"})

    @cached_property
    def range(self) -> IPv6Range:
        own = IPv6Range.objects.writable_by(self.actor).filter(kind=IPv6Range.Kind.RANGE, instance=self.instance)
        found = own.filter(pk=self.kwargs["range"]).first()
        if found is None:
            raise Http404
        return found

    def texts(self) -> dict[str, str]:
        return {
            "heading": f"Delete {self.range}",
            "verb": "Delete the range",
            "introduction": "The addresses of the range lead nowhere from then on.",
        }

    def perform(self, form: forms.Form) -> str:
        ranges.delete(self.actor, self.range)
        return f"The range {self.range} was deleted."
