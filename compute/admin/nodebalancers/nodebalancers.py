"""Load balancers: their configs and nodes, and which nodes are up."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, TypedDict

from django.contrib import admin
from django.db.models import Count, Prefetch, Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from accounts.admin.filters import AccountFilter
from accounts.admin.panels import ROWS_SHOWN, account_panel, staff
from accounts.models import Account
from compute.admin.instances import addresses, ipv4
from compute.admin.nodebalancers.panels import configs_panel, nodes_panel
from compute.models import NodeBalancer, NodeBalancerNode
from compute.services.nodebalancers import nodebalancers
from config.admin.pages import Panel, ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import link, list_of, moment
from config.admin.verbs import Verb
from config.display.statuses import pill, status_counts

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

Status = NodeBalancerNode.Status


class Counted(TypedDict):
    nodes: int
    up: int
    down: int


def counted(rows: QuerySet[NodeBalancer]) -> "QuerySet[WithAnnotations[NodeBalancer, Counted]]":
    """Add the number of nodes, and of nodes that are up and down."""
    nodes = "configs__nodes"
    return rows.annotate(
        nodes=Count(nodes),
        up=Count(nodes, filter=Q(configs__nodes__status=Status.UP)),
        down=Count(nodes, filter=Q(configs__nodes__status=Status.DOWN)),
    )


def health(balancer: "WithAnnotations[NodeBalancer, Counted]") -> SafeString:
    """Labels for a row of `counted`: how many nodes are up, down or unknown."""
    up, down = balancer.up, balancer.down
    counts = ((Status.UP, up), (Status.DOWN, down), (Status.UNKNOWN, balancer.nodes - up - down))
    return status_counts((status.value, number) for status, number in counts) or pill("no nodes")


def delete(request: HttpRequest, balancer: NodeBalancer) -> str:
    nodebalancers.delete(staff(request, balancer.account_id), balancer)
    return "deleted, and its address released."


@admin.register(NodeBalancer)
class NodeBalancerPage(ReadOnlyPage):
    """Owners create and change load balancers. No page shows a private key of a certificate."""

    task = Task.NETWORK
    labels: ClassVar[Mapping[str, str]] = {"client_conn_throttle": "Connections per second for each client"}
    help_texts: ClassVar[Mapping[str, str]] = {
        "client_conn_throttle": "0: no limit.",
        "version": "A number that grows with each change.",
    }
    list_display = ("id", "label", "account", "ipv4", "region", "state", "age")
    list_display_links = ("id", "label")
    list_select_related = ("account", "region")
    list_filter = (AccountFilter, "region")
    link_filters = ("account__id__exact",)
    search_fields = ("=pk", "^label")
    search_help_text = "Id, IPv4 address, or how a label begins."
    ordering = ("-id",)
    sortable_by = ("id",)
    verbs = (
        Verb(
            "delete", "Delete", delete, danger=True, permission="delete",
            confirm="Deletes the load balancer, and releases its address. Connections to it fail. This cannot be"
            " undone.",
        ),
    )  # fmt: skip
    fields = (
        "label", "account", "region", "hostname", "ipv4", "ipv6", "client_conn_throttle", "state", "tags",
        "version", "created", "updated",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[NodeBalancer]:
        return counted(super().get_queryset(request)).select_related("account", "region")

    def matches(self, term: str) -> Q:
        address = ipv4(term)
        return Q(ipv4=address) if address else super().matches(term)

    def panels(self, request: HttpRequest, obj: NodeBalancer) -> list[Panel]:
        nodes = Prefetch("nodes", NodeBalancerNode.objects.select_related("instance").order_by("pk"))
        configs = list(obj.configs.order_by("port").prefetch_related(nodes))
        return [configs_panel(configs), nodes_panel(configs)]

    @admin.display(description="Nodes")
    def state(self, balancer: "WithAnnotations[NodeBalancer, Counted]") -> SafeString:
        return health(balancer)


@account_panel
def balancers_panel(account: Account) -> Panel:
    """The account's newest load balancers, on its page."""
    rows = counted(NodeBalancer.objects.filter(account=account)).order_by("-pk")[:ROWS_SHOWN]
    return Panel.of(
        "Load balancers",
        ("Label", "Id", "Region", "IPv4", "Nodes", "Created"),
        (
            (link(row), row.pk, row.region_id, addresses([row.ipv4]), health(row), moment(row.created))
            for row in rows
        ),
        more=list_of(NodeBalancer, account__id__exact=account.pk),
    )
