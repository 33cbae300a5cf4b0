"""The list of instances, and its changing part."""

from collections.abc import Collection
from typing import Any

from django.db.models import F, QuerySet
from django.db.models.functions import Lower
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django_htmx.http import HttpResponseClientRefresh

from accounts.models import Event
from accounts.pages.base import AccountPage, actor_of, signed_in
from compute.filters.instances import InstanceListFilterSet
from compute.models import Instance, Job
from compute.pages.base import UNDER_WAY
from compute.pages.selections import chosen_ids
from config.pages.lists import Column, ListView
from config.pages.views import fragment, version_of

SHOWN = ("status", "type__label", "region", "ipv4", "ipv6")
"""The columns of the changing cells."""


class InstancesView(AccountPage, ListView):
    """``/home/instances``: the instances that the user may see."""

    template_name = "compute/instances.html"
    extra_context = {"heading": "Instances", "no_match": "No instances match"}
    filterset_class = InstanceListFilterSet
    columns = (
        Column("Label", "label", Lower("label")),
        Column("Status", "status"),
        Column("Type"),
        Column("Region", "region", F("region_id")),
        Column("Addresses"),
        Column("Tags"),
        Column("Created", "created"),
    )

    def get_queryset(self) -> QuerySet[Instance]:
        return Instance.objects.visible_to(self.actor).select_related("type")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        shown = list(context["page_obj"])
        return {
            **context,
            "rows": shown,
            "writable": Instance.objects.writable_keys(self.actor, [row.pk for row in shown]),
            "may_create": self.actor.may("add_computes"),
            "new": reverse("instance-new"),
            **states_of(self.actor.account_id, shown),
        }


class StatesView(AccountPage):
    """``/home/instances/states?id=…&seen=…``: the changing cells of the listed rows, if any has changed."""

    def get(self, request: HttpRequest) -> HttpResponse:
        asked = chosen_ids(request.GET.getlist("id"))
        actor = actor_of(signed_in(request))  # a look at rows needs no account-level grants
        found = Instance.objects.visible_to(actor).select_related("type").only(*SHOWN).in_bulk(asked)
        rows = [found[pk] for pk in asked if pk in found]
        if asked and not rows:
            return HttpResponseClientRefresh()  # the whole page says what to do without any row
        gone = [pk for pk in asked if pk not in found]
        context = {"rows": rows, "gone": gone, **states_of(actor.account_id, rows)}
        return fragment(request, "compute/instances_states.html", context)


def states_of(account_id: int, instances: Collection[Instance]) -> dict[str, Any]:
    """The changing part of the rows of a list: the events under way, by the instances' ids. One query, and a second
    one if a job works on an instance that its event does not name, such as the target of a clone.

    `seen` is the hash by which a page knows whether the part has changed (`config.pages.views.fragment`).
    """
    about = {"account_id": account_id, "entity_type": "compute", "entity_id__in": [row.pk for row in instances]}
    under_way = Event.objects.filter(**about, status__in=UNDER_WAY).order_by("pk")
    events = {event.entity_id: event for event in under_way}
    others = [row.pk for row in instances if row.status not in Instance.SETTLED and row.pk not in events]
    if others:
        jobs = Job.objects.filter(instance__in=others, state__in=Job.LIVE).select_related("event")
        events |= {job.instance_id: job.event for job in jobs if job.event is not None}
    shown = [(row.pk, row.status, row.type_id, row.region_id, row.ipv4, row.ipv6) for row in instances]
    progress = [(pk, event.action, event.percent_complete) for pk, event in sorted(events.items())]
    return {"events": events, "seen": version_of(shown, progress)}
