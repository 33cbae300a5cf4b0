"""The search for customers' resources, and for the hosts that these run on."""

from typing import Any

from django.conf import settings
from django.db.models import F, Func, GenericIPAddressField, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast, Concat
from django.db.models.lookups import Lookup

from compute.machine_names import instance_of
from compute.models import (
    VLAN,
    Address,
    AddressPool,
    Domain,
    DomainRecord,
    Firewall,
    Host,
    Image,
    Instance,
    IPv6Range,
    Job,
    NodeBalancer,
    StackScript,
    Volume,
)
from compute.services.networking.addresses import address_in
from config.admin.search import Hit, Kind, Term, contains, findable

NEWEST_JOBS = 20_000
"""The number of newest jobs whose errors are searched."""


class Inet(Func):
    """SQL: a text as PostgreSQL's address or network."""

    template = "(%(expressions)s)::inet"
    output_field = GenericIPAddressField()


class Holds(Lookup):
    """SQL: whether a network contains an address or equals it, as a condition on two expressions."""

    lookup_name = "holds"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        network, first = self.process_lhs(compiler, connection)
        address, second = self.process_rhs(compiler, connection)
        return f"{network} >>= {address}", (*first, *second)


def holds(network: Any, address: str) -> Q:
    """Return the condition that a network, given as a text expression, contains the address."""
    return Q(Holds(Inet(network), Inet(Value(address, output_field=TextField()))))


def of_range() -> Concat:
    """SQL: the network of an IPv6 range as text. The text of an address ends with its length, which is cut off."""
    first = Func(F("range"), function="host", output_field=TextField())
    return Concat(first, Value("/"), Cast("prefix", TextField()), output_field=TextField())


def numbered(term: Term) -> Q | None:
    return None if term.number is None else Q(pk=term.number)


def labelled(term: Term) -> Q:
    """Return the condition that finds a row by id or the whole label."""
    named = Q(label=term.text)
    return named if term.number is None else named | Q(pk=term.number)


def carrying(term: Term) -> Q:
    """Return the condition that finds a row by id, the whole label, or a tag."""
    return labelled(term) | Q(tags__contains=[term.text])


def address_of(term: Term) -> str | None:
    """Return the address of a term: an IP address, or the default reverse name of one."""
    return term.address or address_in(term.text, settings.PLATFORM_DOMAIN)


def instances_of(term: Term) -> Q:
    """Return the condition that finds an instance by id, label, tag, its machine's name, or any of its addresses.

    Addresses within its ranges count.
    """
    address = address_of(term)
    if address is None:
        machine = instance_of(term.text)
        return carrying(term) if machine is None else carrying(term) | Q(pk=machine)
    rows = Address.objects.filter(address=address).values("instance")
    ranges = IPv6Range.objects.filter(holds(of_range(), address), instance__isnull=False).values("instance")
    found = Q(pk__in=rows.filter(instance__isnull=False))
    if ":" not in address:
        return found
    # SLAAC addresses match exactly: all of a region are in one network, whose prefix length is not the instance's
    return found | Q(pk__in=ranges) | Q(ipv6__in=[f"{address}/128", f"{address}/64", address])


def addresses_of(term: Term) -> Q | None:
    address = address_of(term)
    return Q(address=address) if address else Q(rdns__iexact=term.text)


def ranges_of(term: Term) -> Q | None:
    return holds(of_range(), term.address) if term.address else None


def pools_of(term: Term) -> Q | None:
    return holds(F("network"), term.address) if term.address else None


def balancers_of(term: Term) -> Q:
    if term.address:
        return Q(ipv4=term.address) if ":" not in term.address else Q(ipv6=term.address)
    return carrying(term) | Q(hostname__iexact=term.text)


def hosts_of(term: Term) -> Q:
    if term.address:
        return Q(location__contains=term.address) | (
            Q(underlay=term.address) if ":" not in term.address else Q(pk__in=[])
        )
    return labelled(term)


def domains_of(term: Term) -> Q:
    if term.address:
        records = DomainRecord.objects.filter(target=term.address).values("domain")
        return Q(pk__in=records)
    return carrying(term)


def domain_has(term: Term) -> Q:
    named = Q(name__icontains=term.text) | Q(target__icontains=term.text)
    records = DomainRecord.objects.filter(named).values("domain")
    return Q(label__icontains=term.text) | Q(spelling__icontains=term.text) | Q(pk__in=records)


def jobs_of(term: Term) -> Q | None:
    """Return the condition that finds a job by its id, with or without its kind in front, or by its instance's or
    volume's id."""
    if term.named_id:
        kind, number = term.named_id
        return Q(kind=kind, pk=number)
    if term.number is None:
        return None
    own = Q(pk=term.number)
    return own if term.own_id else own | Q(instance=term.number) | Q(volume=term.number)


def job_says(term: Term) -> Q:
    newest = Job.objects.order_by("-pk").values("pk")[:NEWEST_JOBS]
    return Q(pk__in=newest) & (Q(error__icontains=term.text) | Q(kind=term.text))


def images_of(term: Term) -> Q:
    named = Q(pk=term.text) | Q(label=term.text)
    return named if term.number is None else named | Q(number=term.number)


def jobs() -> QuerySet[Job]:
    joined = ("instance__account", "instance__host", "last_host", "volume__account", "event__account")
    return Job.objects.select_related(*joined).defer("encrypted")


def instances() -> QuerySet[Instance]:
    return Instance.objects.select_related("account", "host")


def balancers() -> QuerySet[NodeBalancer]:
    return NodeBalancer.objects.select_related("account")


def about_instance(row: Instance) -> Hit:
    addresses = ", ".join([*row.ipv4, *([row.ipv6] if row.ipv6 else [])])
    about = f"{row.status.replace('_', ' ')} in {row.region_id}: {addresses}"
    tags = f"; tags {', '.join(row.tags)}" if row.tags else ""
    return Hit(f"{row.label} ({row.pk})", about + tags, [row.account, row.host])


def about_job(row: Job) -> Hit:
    account = row.instance or row.volume or row.event
    state = f"{row.state}, {row.created:%Y-%m-%d %H:%M}"
    about = f"{state}: {row.error}"[:200] if row.error else state
    return Hit(
        f"{row.pk} {row.kind}", about, [row.instance, row.volume, row.instance_host, account and account.account]
    )


findable(
    Kind(
        Instance,
        instances,
        about_instance,
        instances_of,
        contains("label", "group"),
        leads_numbers=True,
    ),
    Kind(
        Host,
        lambda: Host.objects.select_related("region"),
        lambda row: Hit(row.label, f"{row.region_id}, {row.driver} {row.location}", [row.region]),
        hosts_of,
        contains("label", "location"),
    ),
    Kind(
        Job,
        jobs,
        about_job,
        jobs_of,
        job_says,
        note="Only the errors of the newest 20,000 jobs are searched. Find older jobs by id.",
        is_record=True,
        leads_numbers=True,
    ),
    Kind(
        Address,
        lambda: Address.objects.select_related("instance__account", "nodebalancer__account", "pool"),
        lambda row: Hit(
            row.address,
            row.rdns or ("" if row.instance_id or row.nodebalancer_id else "free"),
            [row.instance, row.nodebalancer, row.pool],
        ),
        addresses_of,
        contains("rdns"),
    ),
    Kind(
        IPv6Range,
        lambda: IPv6Range.objects.select_related("account", "instance", "pool"),
        lambda row: Hit(str(row), row.get_kind_display(), [row.account, row.instance, row.pool]),
        ranges_of,
    ),
    Kind(
        AddressPool,
        lambda: AddressPool.objects.select_related("region"),
        lambda row: Hit(row.network, row.kind, [row.region]),
        pools_of,
    ),
    Kind(
        Volume,
        lambda: Volume.objects.select_related("account", "instance"),
        lambda row: Hit(f"{row.label} ({row.pk})", f"{row.status}, {row.size} GB", [row.account, row.instance]),
        carrying,
        contains("label"),
    ),
    Kind(
        NodeBalancer,
        balancers,
        lambda row: Hit(f"{row.label} ({row.pk})", f"{row.hostname} {row.ipv4}", [row.account]),
        balancers_of,
        contains("label", "hostname"),
    ),
    Kind(
        Domain,
        lambda: Domain.objects.select_related("account"),
        lambda row: Hit(row.label, row.type, [row.account]),
        domains_of,
        domain_has,
    ),
    Kind(
        Firewall,
        lambda: Firewall.objects.select_related("account"),
        lambda row: Hit(f"{row.label} ({row.pk})", row.status, [row.account]),
        labelled,
        contains("label"),
    ),
    Kind(
        VLAN,
        lambda: VLAN.objects.select_related("account"),
        lambda row: Hit(f"{row.label} ({row.pk})", row.region_id, [row.account]),
        labelled,
        contains("label"),
    ),
    Kind(
        Image,
        lambda: Image.objects.select_related("account"),
        lambda row: Hit(f"{row.pk} {row.label}", row.status, [row.account]),
        images_of,
        contains("label"),
    ),
    Kind(
        StackScript,
        lambda: StackScript.objects.select_related("account").defer("script"),
        lambda row: Hit(f"{row.label} ({row.pk})", f"of {row.username}", [row.account]),
        labelled,
        contains("label"),
    ),
)  # fmt: skip
