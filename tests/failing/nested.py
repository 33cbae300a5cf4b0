"""Bodies whose lists have several items that fail, each for another reason, and the expected field names."""

from typing import Any

RULE = {"protocol": "TCP", "ports": "80", "addresses": {"ipv4": ["0.0.0.0/0"]}, "action": "ACCEPT"}
ELSEWHERE = {"label": "node-1", "address": "9.9.9.8:80"}

NESTED: dict[str, tuple[dict[str, Any], set[str]]] = {
    "POST /v4/nodebalancers": (
        {
            "region": "us-test",
            "configs": [
                {"port": 0, "nodes": [{"label": "x", "address": "9.9.9.9:80"}, 7, ELSEWHERE]},
                {"port": 99999, "protocol": "https"},
                {"port": 80, "protocol": "https", "nodes": []},
                {"port": 80, "check": "http_body", "check_body": 5, "nodes": [{"label": "node-1", "address": 5}]},
            ],
        },
        {
            "configs[0].port", "configs[0].nodes[0].label", "configs[0].nodes[0].address", "configs[0].nodes[1]",
            "configs[0].nodes[2].address", "configs[1].port", "configs[1].nodes", "configs[1].ssl_cert",
            "configs[1].ssl_key", "configs[2].ssl_cert", "configs[2].ssl_key", "configs[3].port",
            "configs[3].check_body", "configs[3].nodes[0].address",
        },
    ),
    "POST /v4/compute/instances/{compute_id}/configs": (
        {
            "label": "nested",
            "devices": {"sda": {"disk_id": 0}, "sdb": "x", "sdi": {"disk_id": 1}},
            "interfaces": [
                {"purpose": "x"}, {"purpose": "vlan"}, {"purpose": "vlan", "label": 7},
                {"purpose": "public", "label": "lan"}, None,
            ],
        },
        {
            "devices.sda.disk_id", "devices.sdb", "devices.sdi", "interfaces[0].purpose", "interfaces[1].purpose",
            "interfaces[1].label", "interfaces[2].purpose", "interfaces[2].label", "interfaces[3].label",
            "interfaces[4]",
        },
    ),
    "POST /v4/networking/firewalls": (
        {
            "label": "nested",
            "rules": {
                "inbound_policy": "DROP",
                "outbound_policy": "DROP",
                "inbound": [
                    {**RULE, "protocol": "X"},
                    {**RULE, "ports": "0", "addresses": {"ipv4": [7, "x"]}},
                    {**RULE, "protocol": "ICMP"},
                ],
                "outbound": [],
            },
            "devices": {"computes": ["x", 0]},
        },
        {
            "rules.inbound[0].protocol", "rules.inbound[1].ports", "rules.inbound[1].addresses.ipv4[0]",
            "rules.inbound[1].addresses.ipv4[1]", "rules.inbound[2].ports", "devices.computes[0]",
            "devices.computes[1]",
        },
    ),
    "POST /v4/networking/ips/assign": (
        {
            "region": "us-test",
            "assignments": [{"address": "9.9.9.9", "compute_id": "x"}, {"address": 7, "compute_id": 0}],
        },
        {
            "assignments[0].address", "assignments[0].compute_id", "assignments[1].address",
            "assignments[1].compute_id",
        },
    ),
    "POST /v4/profile/security-questions": (
        {
            "security_questions": [
                {"question_id": 99, "response": "a"},
                {"question_id": 1, "response": "an answer"},
                {"question_id": 1, "response": "an answer"},
            ]
        },
        {
            "security_questions[0].question_id", "security_questions[0].response",
            "security_questions[2].question_id",
        },
    ),
    "POST /v4/compute/stackscripts": (
        {"label": "nested", "script": "#!/bin/sh", "images": ["no-such", 7]},
        {"images[0]", "images[1]"},
    ),
}  # fmt: skip
"""The bodies and fields by operation."""
