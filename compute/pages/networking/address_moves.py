"""Addresses between instances of the account: moving, swapping and sharing them."""

from typing import Any

from django import forms
from django.db.models import Exists, OuterRef, Q, QuerySet

from compute.models import Address, Instance, IPv6Range
from compute.pages.base import InstanceForm
from compute.pages.choices import MAX_CHOICES, first_rows
from compute.pages.networking.instance_addresses import AddressPage, NetworkPage
from compute.serializers.networking.addresses import AssignRequest, ShareRequest, assignments_of
from compute.services.networking import assign, reassign
from config.display.integers import is_integer
from config.errors import DomainError
from config.pages.forms import ChoiceField, ListField

NO_INSTANCES = "You have no other instance in the region {} that you may change. Create one there first."
ALL_MOVE = "Your other instances in the region {} are moving or being deleted. Try again when that is over."
LAST_PUBLIC = "The instance has no other public address, so it can only swap this one."
ONE_PRIVATE = "An instance has at most one private address. Instances that have one can only swap it."


def writable_others(form: InstanceForm) -> QuerySet[Instance]:
    """The other instances of the region that the user may change."""
    there = Instance.objects.writable_by(form.actor).filter(region=form.instance.region_id)
    return there.exclude(pk=form.instance.pk)


def staying_others(form: InstanceForm) -> QuerySet[Instance]:
    """The other instances of the region whose addresses the user may change now."""
    return writable_others(form).exclude(status__in=assign.MOVING)


def reason_without_choices(form: InstanceForm) -> str:
    """Return the reason why no instance of the region offers an address. One query."""
    return (ALL_MOVE if writable_others(form).exists() else NO_INSTANCES).format(form.instance.region_id)


class MoveForm(InstanceForm):
    """The target is an instance (``to:7``), or an address that comes in exchange (``for:198.18.0.7``).

    Targets that the service would refuse are not offered: afterwards, each instance has a public address and at
    most one private one.
    """

    body = AssignRequest
    target = ChoiceField(label="What to do")

    def __init__(self, *args: Any, address: Address, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.address = address
        rest = Address.objects.filter(instance=self.instance, region=self.instance.region_id).exclude(pk=address.pk)
        kinds = set(rest.values_list("public", flat=True))
        # not `self["target"].value()`, which would keep the help text as it is now
        given = str(self.data.get("target", "")).partition(":")[2]
        targets, more_targets = first_rows(self._targets(keeps_public=True in kinds), [given])
        rows, more_rows = first_rows(self._exchanges(keeps_public=True in kinds, has_private=False in kinds))
        self.theirs = {row.address: row for row in rows}
        swaps = [(f"for:{text}", f"{text} of {row.instance}") for text, row in self.theirs.items()]
        moves = [(f"to:{each.pk}", each.label) for each in targets]
        groups = [group for group in (("Move the address to", moves), ("Swap the address for", swaps)) if group[1]]
        self.offer("target", [("", "choose one"), *groups])
        self.reason = "" if groups else reason_without_choices(self)
        hint = (LAST_PUBLIC if True not in kinds else "") if address.public else ONE_PRIVATE
        self.fields["target"].help_text = " ".join(filter(None, (hint, more_targets or more_rows)))

    def _targets(self, *, keeps_public: bool) -> QuerySet[Instance]:
        """The instances that may get the address."""
        found = staying_others(self).only("label").order_by("label", "pk")
        if self.address.public:
            return found if keeps_public else found.none()
        return found.exclude(Exists(Address.objects.filter(instance=OuterRef("pk"), public=False)))

    def _exchanges(self, *, keeps_public: bool, has_private: bool) -> QuerySet[Address]:
        """The addresses that may come in exchange."""
        theirs = Address.objects.filter(instance__in=staying_others(self).values("pk"))
        rows = theirs.filter(region=self.instance.region_id)
        found = rows.select_related("instance").order_by("instance__label", "pk")
        if self.address.public:
            return found if keeps_public and not has_private else found.filter(public=True)
        same = Address.objects.filter(instance=OuterRef("instance"), region=OuterRef("region"))
        keeps = Exists(same.filter(public=True).exclude(pk=OuterRef("pk")))
        return found.filter(Q(public=False) | Q(keeps, ~Exists(same.filter(public=False)), public=True))

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
    introduction = (
        "Each instance must keep a public address. Instances can use their new addresses after their next boot."
    )
    verb = "Move address"

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "address": self.row}

    def perform(self, form: MoveForm) -> str:
        given = form.given
        reassign.assign(self.actor, given.get("region"), assignments_of(given), given.problems)
        return f"The address {self.row} was moved."

    def refused(self, form: forms.Form, error: DomainError) -> Any:
        """Show all problems at the only field: the user has chosen no more than that."""
        return super().refused(form, error.with_fields(lambda field: "target"))


KEPT_SHARES = "These addresses stay shared, because you may not change their instances: {}."
MORE_SHARES = f"At most {MAX_CHOICES} addresses and {MAX_CHOICES} ranges are listed. For others, use the API."


class ShareForm(InstanceForm):
    """The choices are addresses and ranges of instances that the user may change. Other shares stay as they are."""

    body = ShareRequest
    blank = frozenset({"ips"})
    ips = ListField(label="Addresses and ranges")

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        theirs = Q(instance__in=staying_others(self).values("pk"))
        ranges = IPv6Range.objects.filter(account=self.actor.account_id, kind=IPv6Range.Kind.RANGE)
        addresses, more_addresses = self._shared_first(Address.objects.all(), theirs & Q(public=True))
        blocks, more_blocks = self._shared_first(ranges, theirs | Q(instance=self.instance))
        rows = [*addresses, *blocks]
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
        self.reason = "" if choices else reason_without_choices(self)
        kept_shares = KEPT_SHARES.format(", ".join(kept)) if kept else ""
        more = MORE_SHARES if more_addresses or more_blocks else ""
        self.fields["ips"].help_text = " ".join(filter(None, (kept_shares, more)))

    def _shared_first(self, rows: QuerySet[Any], offered: Q) -> tuple[list[Any], bool]:
        """Return all rows that the instance shares and as many of the offered ones as a page lists.

        The second value tells whether there are more. A shared row that the page leaves out would be dropped when
        the form is saved.
        """
        shared = list(rows.filter(shares__instance=self.instance).order_by("pk"))
        others, more = first_rows(rows.filter(offered).exclude(pk__in=[row.pk for row in shared]).order_by("pk"))
        return [*shared, *others], bool(more)

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
