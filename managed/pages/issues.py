"""The list of issues, with the tickets that deal with them."""

from typing import Any

from django.db.models import F, QuerySet

from config.pages.lists import Column, Verb
from managed.filters import IssueListFilterSet
from managed.models import Issue, Service
from managed.pages.base import ManagedListPage


class IssuesView(ManagedListPage):
    """``/home/monitoring/issues``, the newest first."""

    template_name = "managed/issues.html"
    model = Issue
    list_page = "monitoring-issues"
    filterset_class = IssueListFilterSet
    newest_first = True
    columns = (
        Column("Number", "id"),
        Column("Ticket", "ticket", F("ticket__summary")),
        Column("Services"),
        Column("Status"),
        Column("Opened", "created"),
        Column("Closed", "closed"),
    )

    def get_queryset(self) -> QuerySet[Issue]:
        return super().get_queryset().select_related("ticket")

    def verbs_of(self, found: Issue) -> tuple[Verb, ...]:
        return ()

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        keys = {key for row in context["rows"] for key in row.object.services}
        labels = Service.objects.visible_to(self.actor).filter(pk__in=keys).values_list("pk", "label")
        return {**context, "labels": dict(labels)}
