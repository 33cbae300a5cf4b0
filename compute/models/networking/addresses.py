"""Addresses: pools that staff manage, and the rows instances take from them."""

from typing import Any, Self

from django.db import models
from django.db.models import Aggregate, F, Func, Q, QuerySet, Subquery, Value
from django.db.models.functions import Cast, Coalesce
from django.db.models.sql.datastructures import BaseTable

from accounts.actors import Actor
from compute.models.instances import Instance
from regions.models import Region


class AddressPool(models.Model):
    """A network of one region that addresses come from.

    `public` and `private` pools hold one `Address` row for each usable IPv4 address. A `slaac` pool is an IPv6 /64
    without rows: an instance's address follows from its id. Ranges are cut out of a `routed` pool.
    """

    class Kind(models.TextChoices):
        PUBLIC = "public"
        PRIVATE = "private"
        SLAAC = "slaac"
        ROUTED = "routed"

    region = models.ForeignKey(Region, on_delete=models.CASCADE, related_name="address_pools")
    kind = models.CharField(max_length=8, choices=Kind)
    network = models.CharField(max_length=49, unique=True, help_text="CIDR, such as 198.51.100.0/24.")
    gateway = models.GenericIPAddressField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("region", "kind", "id")

    def __str__(self) -> str:
        return f"{self.network} ({self.kind}, {self.region_id})"


class _Rows(BaseTable):
    """The rows of a queryset in the FROM clause, in place of a table."""

    def __init__(self, table_name: str, alias: str | None, columns: tuple[str, ...], rows: QuerySet):
        super().__init__(table_name, alias)
        self.columns = columns
        self.rows = rows

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        sql, params = self.rows.query.get_compiler(connection=connection).as_sql()
        alias = compiler.quote_name_unless_alias(self.table_alias)
        columns = ", ".join(map(connection.ops.quote_name, self.columns))
        return f"({sql}) AS {alias} ({columns})", tuple(params)

    def relabeled_clone(self, change_map: dict[str | None, str]) -> "_Rows":
        alias = change_map.get(self.table_alias, self.table_alias)
        return type(self)(self.table_name, alias, self.columns, self.rows)


class _AddressOf(Func):
    """The address of a text such as ``2001:db8::1/128``, without the length."""

    template = "split_part(%(expressions)s, '/', 1)::inet"
    output_field = models.GenericIPAddressField()


class _GatewaysByRegion(Aggregate):
    """The gateway of each region's first pool, as one JSON object."""

    template = "jsonb_object_agg(%(expressions)s ORDER BY id DESC)"
    output_field = models.JSONField()


class _GatewayOf(Func):
    template = "(%(expressions)s)::inet"
    arg_joiner = " ->> "
    output_field = models.GenericIPAddressField()


SLAAC_KEYS = 2**62
"""The offset of the keys of SLAAC addresses in `AddressQuerySet.of`: beyond the keys of all rows."""
LINK_LOCAL_GATEWAY = "fe80::1"


def _slaac_of(instances: QuerySet[Instance]) -> QuerySet:
    """The instances' SLAAC addresses, with the columns of `Address`."""
    pools = AddressPool.objects.filter(kind=AddressPool.Kind.SLAAC).order_by().values("kind")
    # read once for the whole list: a subquery for each row would be most of the cost of a long list
    gateways = Subquery(pools.annotate(by_region=_GatewaysByRegion("region_id", "gateway")).values("by_region"))
    link_local = Cast(Value(LINK_LOCAL_GATEWAY), models.GenericIPAddressField())
    gateway = Coalesce(_GatewayOf(gateways, F("region_id")), link_local, output_field=link_local.output_field)
    columns: dict[str, Any] = {
        "id": F("pk") + Value(SLAAC_KEYS, models.BigIntegerField()),
        "pool_id": Cast(Value(None), models.BigIntegerField()),
        "region_id": F("region_id"),
        "address": _AddressOf("ipv6"),
        "prefix": Cast(Value(64), models.SmallIntegerField()),
        "gateway": gateway,
        "public": Cast(Value(True), models.BooleanField()),
        "instance_id": F("pk"),
        "nodebalancer_id": Cast(Value(None), models.BigIntegerField()),
        "rdns": Cast(Value(None), models.CharField(max_length=254)),
        "released": Cast(Value(None), models.DateTimeField()),
    }
    named = {f"of_{field.attname}": columns[field.attname] for field in Address._meta.concrete_fields}
    return instances.filter(ipv6__isnull=False).order_by().annotate(**named).values_list(*named)


class AddressQuerySet(models.QuerySet["Address"]):
    """Free addresses and those in use; `of` and `visible_to` also give SLAAC addresses, which have no rows."""

    def of(self, instances: QuerySet[Instance]) -> Self:
        """Return all addresses of these instances: their rows, and their SLAAC addresses, which look like rows of
        no pool.

        One SELECT from a UNION, which filters, counts and pages like any other. Call it on the manager itself. The
        result cannot be updated or locked.
        """
        assigned = Address._base_manager.filter(instance__in=instances.values("pk")).order_by()
        fields = Address._meta.concrete_fields
        both = assigned.values_list(*(field.attname for field in fields)).union(_slaac_of(instances), all=True)
        rows = self.all()
        alias = rows.query.get_initial_alias()
        columns = tuple(str(field.column) for field in fields)
        rows.query.alias_map[alias] = _Rows(rows.query.get_meta().db_table, alias, columns, both)
        return rows

    def visible_to(self, actor: Actor) -> Self:
        """The addresses of all instances that the actor may see."""
        return self.of(Instance.objects.visible_to(actor))

    def writable_by(self, actor: Actor) -> Self:
        """The addresses of the instances that the actor may change."""
        return self.of(Instance.objects.writable_by(actor))


class Address(models.Model):
    """One IPv4 address. It is free while neither an instance nor a load balancer has it.

    Rows exist before they are taken. Taking an address is an UPDATE of the free row that was released longest ago
    (``SKIP LOCKED``, through the partial index below). The cost does not depend on the number of used addresses,
    and two requests never get the same row.
    """

    pool = models.ForeignKey(AddressPool, on_delete=models.CASCADE, related_name="addresses")
    region = models.ForeignKey(Region, on_delete=models.CASCADE, related_name="+")
    address = models.GenericIPAddressField(unique=True)
    prefix = models.PositiveSmallIntegerField()
    gateway = models.GenericIPAddressField()
    public = models.BooleanField()
    instance = models.ForeignKey(
        "compute.Instance", null=True, blank=True, on_delete=models.SET_NULL, related_name="addresses"
    )
    nodebalancer = models.OneToOneField(
        "compute.NodeBalancer", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    rdns = models.CharField(max_length=254, null=True, blank=True, help_text="Empty: the platform's default.")
    released = models.DateTimeField(null=True, blank=True)

    objects = AddressQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "addresses"
        ordering = ("id",)
        indexes = [
            models.Index(
                F("region"), F("public"), F("released").asc(nulls_first=True), F("id"),
                condition=Q(instance__isnull=True, nodebalancer__isnull=True), name="address_free",
            ),
        ]  # fmt: skip
        constraints = [
            models.CheckConstraint(
                condition=Q(instance__isnull=True) | Q(nodebalancer__isnull=True), name="address_of_one"
            ),
        ]

    def __str__(self) -> str:
        return self.address


class AddressShare(models.Model):
    """An instance that may take over an address of another instance (IP failover)."""

    address = models.ForeignKey(Address, on_delete=models.CASCADE, related_name="shares")
    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="address_shares")

    class Meta:
        constraints = [models.UniqueConstraint(fields=("address", "instance"), name="one_share")]

    def __str__(self) -> str:
        return f"{self.address} with {self.instance_id}"
