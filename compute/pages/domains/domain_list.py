"""The list of domains."""

from typing import Any

from django.db.models import Count, F
from django.urls import reverse

from accounts.pages.objects import ObjectListPage
from compute.filters.domains.domains import DomainListFilterSet
from compute.models import Domain, DomainRecord
from config.pages.lists import Column, Verb


class DomainsView(ObjectListPage):
    """``/home/domains``: the domains that the user may see."""

    template_name = "compute/domains/list.html"
    model = Domain
    noun = "domains"
    new = "domain-new"
    add = "add_domains"
    filterset_class = DomainListFilterSet
    columns = (
        Column("Domain", "domain", F("label")),
        Column("Type", "type"),
        Column("Status", "status"),
        Column("Records"),
        Column("Tags"),
        Column("Updated", "updated"),
    )

    def verbs_of(self, found: Domain) -> tuple[Verb, ...]:
        verbs = {"settings": "Settings", "clone": "Clone", "delete": "Delete"}
        return tuple(Verb(label, reverse(f"domain-{verb}", args=[found.pk])) for verb, label in verbs.items())

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        shown = DomainRecord.objects.filter(domain__in=[row.object.pk for row in context["rows"]])
        counts = shown.order_by().values_list("domain").annotate(Count("pk"))
        return {**context, "records": dict(counts)}
