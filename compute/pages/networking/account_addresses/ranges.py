"""IPv6 ranges of the account: creating, moving and deleting one."""

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.urls import reverse
from django.views.generic.base import ContextMixin

from accounts.pages.objects import ObjectConfirmationPage, ObjectForm, ObjectFormPage, ObjectPage
from compute.models import Instance, IPv6Range
from compute.pages.choices import offer_rows
from compute.pages.networking.account_addresses.addresses import OnInstanceForm, OnInstancePage
from compute.pages.networking.address_moves import NO_INSTANCES
from compute.pages.networking.instance_addresses import RANGE_SIZES, DeleteRangeView
from compute.pages.networking.networking import moving_reason
from compute.serializers.networking.addresses import AssignRequest, IPv6RangeRequest, assignments_of, range_spec
from compute.services.networking import ranges, reassign
from config.errors import DomainError
from config.pages.forms import ChoiceField
from config.pages.navigation import NOUNS


class NewRangeForm(OnInstanceForm):
    body = IPv6RangeRequest
    prefix_length = ChoiceField(label="Size", number=True, choices=RANGE_SIZES)


class RangesAfterwards(ContextMixin):
    """A mixin for pages below the list of ranges, to which they redirect."""

    def get_success_url(self) -> str:
        return reverse("ranges")

    def back_address(self) -> str:
        return reverse("ranges")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        addresses = NOUNS["addresses"]
        trail = [(addresses.label, addresses.address), ("IPv6 ranges", reverse("ranges"))]
        return super().get_context_data(**kwargs) | {"trail": trail}


class NewRangeView(RangesAfterwards, OnInstancePage):
    """``/home/addresses/ranges/new``."""

    form_class = NewRangeForm
    operations = frozenset({"networking_ipv6_ranges_create"})
    heading = "Create an IPv6 range"
    introduction = "The range is routed to the SLAAC address of the instance."
    verb = "Create range"

    def perform(self, form: NewRangeForm) -> str:
        made = ranges.create(self.actor, range_spec(form.given), form.given.problems)
        return f"The range {made} is routed to {made.instance}."


class RangePage(RangesAfterwards, ObjectPage):
    """A page of one range that the user may see."""

    model = IPv6Range
    noun = "addresses"

    def get_queryset(self) -> QuerySet[IPv6Range]:
        return super().get_queryset().filter(kind=IPv6Range.Kind.RANGE).select_related("instance")

    @property
    def range(self) -> IPv6Range:
        found: IPv6Range = self.object
        return found

    def unavailable(self) -> str:
        return moving_reason(self.range.instance.status) if self.range.instance else ""


class MoveRangeForm(ObjectForm):
    body = AssignRequest
    compute_id = ChoiceField(label="Instance", number=True)

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        there = Instance.objects.writable_by(self.actor).filter(region=self.object.region_id)
        others = there.exclude(pk=self.object.instance_id).only("label").order_by("label", "pk")
        if not offer_rows(self, "compute_id", others, lambda each: (each.pk, each.label), ("", "choose one")):
            self.reason = NO_INSTANCES.format(self.object.region_id)

    def as_body(self) -> dict[str, Any]:
        return {
            "region": self.object.region_id,
            "assignments": [{"address": str(self.object), **super().as_body()}],
        }


class MoveRangeView(RangePage, ObjectFormPage):
    """``/home/addresses/ranges/<id>/move``."""

    form_class = MoveRangeForm
    operations = frozenset({"networking_ips_assign"})
    heading = "Move {page.range}"
    introduction = "The range is routed to the SLAAC address of the other instance."
    verb = "Move range"

    def perform(self, form: MoveRangeForm) -> str:
        given = form.given
        reassign.assign(self.actor, given.get("region"), assignments_of(given), given.problems)
        return f"The range {self.range} was moved."

    def refused(self, form: forms.Form, error: DomainError) -> Any:
        """Show all problems at the only field: the user has chosen no more than that."""
        return super().refused(form, error.with_fields(lambda field: "compute_id"))


class AccountDeleteRangeView(RangePage, ObjectConfirmationPage):
    """``/home/addresses/ranges/<id>/delete``."""

    operations = DeleteRangeView.operations
    heading = DeleteRangeView.heading
    introduction = DeleteRangeView.introduction
    verb = DeleteRangeView.verb

    def perform(self, form: forms.Form) -> str:
        ranges.delete(self.actor, self.range)
        return f"The range {self.range} was deleted."
