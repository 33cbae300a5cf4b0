"""The search for managed services and their objects."""

from django.db.models import Q

from config.admin.search import Hit, Kind, Term, contains, findable
from managed.models import Contact, Service


def services_of(term: Term) -> Q:
    if term.number is not None:
        return Q(pk=term.number)
    return Q(label=term.text) | (Q(address__contains=term.address) if term.address else Q(pk__in=[]))


findable(
    Kind(
        Service,
        lambda: Service.objects.select_related("account"),
        lambda row: Hit(row.label, f"{row.status}: {row.address}", [row.account]),
        services_of,
        contains("label", "address"),
    ),
    Kind(
        Contact,
        lambda: Contact.objects.select_related("account"),
        lambda row: Hit(row.name, row.email, [row.account]),
        lambda term: Q(email__iexact=term.text),
        contains("name", "email"),
    ),
)
