"""The parts of a load balancer's page: its configs, and their nodes."""

from compute.admin.instances import addresses
from compute.models import NodeBalancerConfig
from config.admin.pages import Panel
from config.admin.value_formats import NOTHING, link, rendered
from config.display.statuses import status_pill


def configs_panel(configs: list[NodeBalancerConfig]) -> Panel:
    return Panel.of(
        "Configs",
        ("Port", "Protocol", "Algorithm", "Stickiness", "Check", "PROXY protocol", "Certificate for"),
        (
            (
                config.port, config.protocol, config.algorithm, config.stickiness,
                rendered("compute/nodebalancers/checks.html", config=config), config.proxy_protocol,
                config.ssl_commonname or NOTHING,
            )
            for config in configs
        ),
    )  # fmt: skip


def nodes_panel(configs: list[NodeBalancerConfig]) -> Panel:
    return Panel.of(
        "Nodes",
        ("Port", "Label", "Address", "Instance", "Mode", "Weight", "Status"),
        (
            (
                config.port, node.label, addresses([node.address]), link(node.instance), node.mode, node.weight,
                status_pill(node.status),
            )
            for config in configs
            for node in config.nodes.all()
        ),
    )  # fmt: skip
