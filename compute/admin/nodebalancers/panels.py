"""The parts of a load balancer's page: its configs, and their nodes."""

from compute.admin.instances import addresses
from compute.models import NodeBalancerConfig
from config.admin.pages import Panel
from config.admin.value_formats import NOTHING, link
from config.display.statuses import status_pill


def configs_panel(configs: list[NodeBalancerConfig]) -> Panel:
    return Panel.of(
        "Configs",
        ("Port", "Protocol", "Algorithm", "Stickiness", "Check", "PROXY protocol", "Certificate for"),
        (
            (
                config.port, config.protocol, config.algorithm, config.stickiness, check_text(config),
                config.proxy_protocol, config.ssl_commonname or NOTHING,
            )
            for config in configs
        ),
    )  # fmt: skip


def check_text(config: NodeBalancerConfig) -> str:
    if not config.watched:
        return config.check_type
    down = f"down after {config.check_attempts}"
    if config.check_type == NodeBalancerConfig.Check.NONE:
        return f"by traffic, {down}, tried again every {config.check_interval} s"
    passive = ", and by traffic" if config.check_passive else ""
    return f"{config.check_type} {config.check_path} every {config.check_interval} s, {down}{passive}"


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
