"""Addresses between instances of the account: moving, swapping and sharing them."""

from typing import Any

from django import forms
from django.db.models import Q, QuerySet

from compute.models import Address, Instance, IPv6Range
from compute.pages.base import InstanceForm
from compute.pages.choices import MOST_CHOICES
from compute.pages.networking.instance_addresses import AddressPage, NetworkPage
from compute.serializers.networking.addresses import AssignRequest, ShareRequest, assignments_of
from compute.services.networking import reassign
from config.display.integers import is_integer
from config.errors import DomainError, Invalid, Problem
from config.pages.forms import ChoiceField, ListField


def others(form: InstanceForm) -> Any:
    """The other instances of the region that the user may change."""
    there = Instance.objects.writable_by(form.actor).filter(region=form.instance.region_id)
    return there.exclude(pk=form.instance.pk)


class MoveForm(InstanceForm):
    """The target is an instance (``to:7``), or an address that comes in exchange (``for:198.18.0.7``)."""

    body = AssignRequest
    target = ChoiceField(label="What to do")
    address: Address

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        instances = others(self).order_by("label").values_list("pk", "label")[:MOST_CHOICES]
        rows = Address.objects.filter(instance__in=others(self).values("pk")).select_related("instance")
        self.theirs = {row.address: row for row in rows.order_by("instance__label", "pk")[:MOST_CHOICES]}
        swaps = [(f"for:{text}", f"{text} of {row.instance}") for text, row in self.theirs.items()]
        moves = [(f"to:{pk}", label) for pk, label in instances]
        self.offer("target", [("", "choose one"), ("Move it to", moves), ("Swap it for", swaps)])

    def as_body(self) -> dict[str, Any]:
        verb, _, value = str(self.cleaned_data["target"]).partition(":")
        moves: list[dict[str, Any]] = [{"address": self.address.address}]
        if verb == "to" and is_integer(value):
            moves[0]["compute_id"] = int(value)
        elif value in self.theirs:
            moves[0]["compute_id"] = self.theirs[value].instance_id
            moves.append({"address": value, "compute_id": self.instance.pk})
        return {"region": self.instance.region_id, "assignments": moves}


class MoveAddressView(AddressPage, NetworkPage):
    """``/home/instances/<id>/addresses/<address>/move``: to another instance, or in exchange for one of its
    addresses."""

    form_class = MoveForm
    operations = frozenset({"networking_ips_assign"})
    heading = "Move {page.row}"
    introduction = "Each instance keeps a public address. Instances get new addresses when they boot."
    verb = "Move the address"

    def get_form(self, form_class: Any = None) -> Any:
        form = super().get_form(form_class)
        form.address = self.row
        return form

    def perform(self, form: MoveForm) -> str:
        given = form.given
        reassign.assign(self.actor, given.get("region"), assignments_of(given), given.problems)
        return f"The address {self.row} was moved."

    def refused(self, form: forms.Form, error: DomainError) -> Any:
        """Show all problems at the only field: the user has chosen no more than that."""
        return super().refused(form, Invalid.of(Problem(each.reason, "target") for each in error.problems))


KEPT_SHARES = "These stay shared, because you may not change their instances: {}."


class ShareForm(InstanceForm):
    """The choices are addresses and ranges of instances that the user may change. Other shares stay as they are."""

    body = ShareRequest
    blank = frozenset({"ips"})
    ips = ListField(label="Addresses and ranges")

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        theirs = Q(instance__in=others(self).values("pk"))
        ranges = IPv6Range.objects.filter(account=self.actor.account_id, kind=IPv6Range.Kind.RANGE)
        rows = [
            *self._shared_first(Address.objects.all(), theirs & Q(public=True)),
            *self._shared_first(ranges, theirs | Q(instance=self.instance)),
        ]
        owners = {row.instance_id for row in rows}
        seen = Instance.objects.visible_to(self.actor).in_bulk(owners)
        writable = owners
        if self.actor.restricted:
            may = Instance.objects.writable_by(self.actor).filter(pk__in=owners)
            writable = set(may.values_list("pk", flat=True))
        choices: list[tuple[str, str]] = []
        kept: list[str] = []
        for row in rows:
            owner = seen.get(row.instance_id, "another instance") if row.instance_id else "no instance"
            named = f"{row} of {owner}"
            if row.instance_id in writable:
                choices.append((str(row), named))
            else:
                kept.append(named)
        self.offer("ips", choices)
        if kept:
            self.fields["ips"].help_text = KEPT_SHARES.format(", ".join(kept))

    def _shared_first(self, rows: QuerySet[Any], offered: Q) -> list[Any]:
        """All rows that the instance shares, and as many of the offered ones as a page lists.

        A shared row that the page leaves out would be dropped when the form is saved.
        """
        shared = list(rows.filter(shares__instance=self.instance).order_by("pk"))
        others = rows.filter(offered).exclude(pk__in=[row.pk for row in shared])
        return [*shared, *others.order_by("pk")[:MOST_CHOICES]]

    def as_body(self) -> dict[str, Any]:
        return {**super().as_body(), "compute_id": self.instance.pk}


class ShareAddressesView(NetworkPage):
    """``/home/instances/<id>/addresses/share``: the addresses that the instance may take over."""

    form_class = ShareForm
    operations = frozenset({"networking_ips_share"})
    heading = "Shared addresses"
    introduction = "{page.instance} may take over these addresses of other instances (IP failover)."
    verb = "Save"

    def get_initial(self) -> dict[str, Any]:
        addresses = Address.objects.filter(shares__instance=self.instance)
        ranges = IPv6Range.objects.filter(shares__instance=self.instance)
        return {"ips": [*(row.address for row in addresses), *map(str, ranges)]}

    def perform(self, form: ShareForm) -> str:
        ips = form.given.get("ips", ())
        reassign.share(self.actor, self.instance.pk, ips, form.given.problems, keep_others=True)
        return "The shared addresses were saved."
