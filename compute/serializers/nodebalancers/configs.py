"""Serializers of configs of a load balancer."""

from collections.abc import Mapping
from typing import Any

from django.core.validators import RegexValidator
from django.db.models import Count, OuterRef, Subquery
from django.db.models.functions import Coalesce, JSONObject
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField

from compute.models import NodeBalancerConfig, NodeBalancerNode
from compute.serializers.nodebalancers.nodes import NodeBalancerNodeResource, RebuiltNode, node_wish
from compute.services.nodebalancers.certificates import MAX_PEM_LENGTH
from compute.services.nodebalancers.configs import REDACTED, ConfigWish
from config.api.common_fields import printable
from config.api.fields import Annotated, Computed
from config.api.meanings import Meanings
from config.api.reasons import not_valid
from config.api.serializers import Resource

Config = NodeBalancerConfig
PATH = RegexValidator(
    r"\A[a-zA-Z0-9/\-%?&=.]*\Z", not_valid("check_path", "letters, digits and / - %% ? & = . only")
)
MAX_INTERVAL = 3600


def _count(status: str) -> Coalesce:
    nodes = NodeBalancerNode.objects.filter(config=OuterRef("pk"), status=status).order_by().values("config")
    return Coalesce(Subquery(nodes.annotate(number=Count("pk")).values("number")), 0)


def redacted(fingerprint: str) -> str | None:
    """Return the text that stands for a certificate or a key; None where there is none."""
    return REDACTED if fingerprint else None


def pem(what: str) -> CharField:
    return CharField(
        max_length=MAX_PEM_LENGTH, allow_null=True, allow_blank=True, required=False,
        help_text=f"{what}, as PEM. Needed with `https`. Answers show `{REDACTED}`. "
        f"If you send `{REDACTED}`, nothing changes.",
    )  # fmt: skip


class NodesStatus(Resource):
    """Numbers of nodes that are up and down. The status of other nodes is not known."""

    up = IntegerField(read_only=True, help_text="The number of nodes that are `UP`.")
    down = IntegerField(read_only=True, help_text="The number of nodes that are `DOWN`.")


class NodeBalancerConfigRequest(Resource):
    """Values of a config: a port of a load balancer."""

    port = IntegerField(
        min_value=1, max_value=65535, required=False, help_text="The port to listen on. By default 80."
    )
    protocol = ChoiceField(
        Config.Protocol.choices,
        required=False,
        help_text=Meanings(
            "The protocol.",
            {
                "http": "HTTP. The default.",
                "https": "HTTPS, with `ssl_cert` and `ssl_key`.",
                "tcp": "TCP, forwarded unchanged.",
            },
        ),
    )
    algorithm = ChoiceField(
        Config.Algorithm.choices,
        required=False,
        help_text=Meanings(
            "The algorithm that chooses the node of a connection.",
            {
                "roundrobin": "Each node in turn, by weight. The default.",
                "leastconn": "The node with the fewest connections.",
                "source": "Always the same node for a client's address.",
            },
        ),
    )
    stickiness = ChoiceField(
        Config.Stickiness.choices,
        required=False,
        help_text=Meanings(
            "The way in which a client stays with its node.",
            {
                "none": "A client does not stay with a node. The default.",
                "table": "By the address of the client, for 30 minutes.",
                "http_cookie": "By a cookie. Not available with `tcp`.",
            },
        ),
    )
    check = ChoiceField(
        Config.Check.choices,
        source="check_type",
        required=False,
        help_text=Meanings(
            "The type of the health checks of nodes.",
            {
                "none": "No checks. The default.",
                "connection": "A connection to the node.",
                "http": "A request for `check_path`. The answer must have a status of 2xx or 3xx.",
                "http_body": "A request for `check_path`. The answer must contain `check_body`.",
            },
        ),
    )
    check_interval = IntegerField(
        min_value=1,
        max_value=MAX_INTERVAL,
        required=False,
        help_text="Seconds between two checks of a node. By default 31.",
    )
    check_timeout = IntegerField(
        min_value=1,
        max_value=30,
        required=False,
        help_text="The timeout of a check in seconds. By default 30, and at most the interval.",
    )
    check_attempts = IntegerField(
        min_value=1,
        max_value=30,
        required=False,
        help_text="The number of failed checks in a row until a node is `DOWN`. By default 3.",
    )
    check_path = CharField(
        max_length=255,
        allow_blank=True,
        required=False,
        validators=[PATH],
        help_text="The path that checks request. By default empty, which means `/`.",
    )
    check_body = CharField(
        max_length=255, allow_blank=True, trim_whitespace=False, required=False,
        validators=[printable("check_body")],
        help_text="Text that the answer to a check must contain. Required with `http_body`.",
    )  # fmt: skip
    check_passive = BooleanField(
        required=False,
        help_text="Whether answers to clients are checked too. After `check_attempts` bad answers in a "
"row, a node is `DOWN`. The load balancer then tries a connection every "
"`check_interval`, and the node is `UP` again if it accepts one. By default true.",
    )  # fmt: skip
    proxy_protocol = ChoiceField(
        Config.ProxyProtocol.choices,
        required=False,
        help_text=Meanings(
            "The version of the PROXY protocol, which tells nodes the address of the client.",
            {
                "none": "No PROXY protocol. The default.",
                "v1": "Version 1.",
                "v2": "Version 2.",
            },
        ),
    )
    cipher_suite = ChoiceField(
        Config.CipherSuite.choices,
        required=False,
        help_text=Meanings(
            "The TLS ciphers for HTTPS.",
            {
                "recommended": "Ciphers that are considered secure. The default.",
                "legacy": "Older ciphers too.",
            },
        ),
    )
    ssl_cert = pem("The certificate with its chain")
    ssl_key = pem("The private key, not encrypted")


class NewNodeBalancerConfig(NodeBalancerConfigRequest):
    """A port of a new load balancer."""

    nodes = NodeBalancerNodeResource(many=True, help_text="The nodes of the configuration.")

    class Meta:
        in_part = True


class NodeBalancerConfigCreate(NodeBalancerConfigRequest):
    """The body of a new config."""

    nodes = NodeBalancerNodeResource(many=True, required=False, help_text="The nodes of the configuration.")


class NodeBalancerConfigRebuild(NodeBalancerConfigRequest):
    """The body of a rebuild of a config."""

    nodes = RebuiltNode(
        many=True, help_text="The complete new list of nodes. Existing nodes whose `id` is missing are deleted."
    )


class NodeBalancerConfigResource(Resource):
    """A config: a port of a load balancer, and how its traffic is distributed."""

    id = IntegerField(read_only=True)
    port = IntegerField(min_value=1, max_value=65535)
    protocol = ChoiceField(Config.Protocol.choices)
    algorithm = ChoiceField(Config.Algorithm.choices)
    stickiness = ChoiceField(Config.Stickiness.choices)
    check = ChoiceField(Config.Check.choices, source="check_type")
    check_interval = IntegerField()
    check_timeout = IntegerField()
    check_attempts = IntegerField()
    check_path = CharField()
    check_body = CharField()
    check_passive = BooleanField()
    proxy_protocol = ChoiceField(Config.ProxyProtocol.choices)
    cipher_suite = ChoiceField(Config.CipherSuite.choices)
    nodebalancer_id = IntegerField(read_only=True, help_text="The id of the load balancer.")
    ssl_commonname = CharField(
        read_only=True, help_text="The common name in the certificate. Empty if there is none."
    )
    ssl_fingerprint = CharField(
        read_only=True, help_text="The SHA-256 fingerprint of the certificate. Empty if there is none."
    )
    ssl_cert = Computed(
        CharField(allow_null=True),
        redacted,
        "ssl_fingerprint",
        help_text="`<REDACTED>` if there is a certificate. Otherwise null.",
    )
    ssl_key = Computed(
        CharField(allow_null=True),
        redacted,
        "ssl_fingerprint",
        help_text="`<REDACTED>` if there is a key. Otherwise null.",
    )
    nodes_status = Annotated(
        NodesStatus(), JSONObject(up=_count("UP"), down=_count("DOWN")), help_text="The numbers of nodes by status."
    )

    class Meta:
        as_in = (NodeBalancerConfigRequest,)


def wish_of(given: Mapping[str, Any]) -> ConfigWish:
    """Return the config for the service, from a validated body."""
    fields = dict(given)
    cert, key = (_new_text(fields.pop(name, None)) for name in ("ssl_cert", "ssl_key"))
    nodes = tuple(map(node_wish, fields.pop("nodes", ())))
    return ConfigWish(fields, cert, key, nodes)


def _new_text(text: str | None) -> str | None:
    """Return a new certificate or key; None for a text that leaves the present one in place."""
    return None if text in (None, "", REDACTED) else text
