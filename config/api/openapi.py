"""The parts of the OpenAPI document that no view declares: its introduction, tags, and the words of its paths."""

from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

INTRODUCTION = (Path(__file__).parent / "introduction.md").read_text()
CONTACT = {"name": "The operator of this installation"}
LICENSE = {"name": "Apache License 2.0", "identifier": "Apache-2.0"}
SERVERS = [{"url": "/", "description": "The installation that serves this document."}]

ADDITIONS = "additions"
"""The tag of operations that the contract does not have."""
TAGS = {
    "account": "The customer: name and address, and the transfer of all computes in this month.",
    "account events": "Changes on the account in the last 90 days, and the progress of jobs.",
    "account logins": "Logins to the account.",
    "account maintenance": "Maintenance of hosts, as far as it concerns computes of the account.",
    "account notifications": "Current notices for the account.",
    "account oauth-clients": "Apps that the account has registered, which ask users for access.",
    "account settings": "Settings of the whole account.",
    "account transfer": "Network transfer of the account, which all its computes share.",
    "account users": "Users of the account, and the grants of restricted users.",
    ADDITIONS: "Usage and quotas of the account. Only this platform has these operations.",
    "compute instances": "Virtual machines, with their disks, configuration profiles, backups and addresses.",
    "compute kernels": "Kernels that instances boot.",
    "compute stackscripts": "Scripts that run at the first boot of a disk.",
    "compute types": "Plans: how large an instance is, and its price.",
    "domains": "Zones of the platform's name servers, and their records.",
    "images": "Templates of disks: the platform's, and the account's own.",
    "managed": "Monitoring of services, and contacts who are notified of problems.",
    "networking firewalls": "Rules for the public traffic of computes.",
    "networking ips": "IP addresses of all computes, and moving them between computes.",
    "networking ipv4": "Deprecated paths of the operations below `networking/ips`.",
    "networking ipv6": "IPv6 ranges and pools that are routed to computes.",
    "networking vlans": "Private networks between computes of a region.",
    "nodebalancers": "Load balancers, their ports, and the nodes behind these.",
    "profile": "The acting user: its settings, tokens, keys, second factor, and the apps and browsers with access.",
    "regions": "Where services are offered.",
    "support": "Tickets: questions to the support of the platform.",
    "tags": "Labels on computes, domains, volumes and load balancers.",
    "volumes": "Block storage that instances attach.",
}
"""The descriptions of tags. A path's tag is its first word, or its first two if many paths share the first word.
A view may name another tag."""

NOUNS = {
    "apps": ("authorized app", "authorized apps"),
    "attachments": ("attachment", "attachments"),
    "backups": ("backup", "backups"),
    "compute-settings": ("compute's managed settings", "managed settings of all computes"),
    "configs": ("configuration profile", "configuration profiles"),
    "contacts": ("managed contact", "managed contacts"),
    "credentials": ("managed credential", "managed credentials"),
    "devices": ("trusted device", "trusted devices"),
    "disks": ("disk", "disks"),
    "domains": ("domain", "domains"),
    "events": ("event", "events"),
    "firewalls": ("firewall", "firewalls"),
    "images": ("image", "images"),
    "instances": ("instance", "instances"),
    "ips": ("IP address", "IP addresses"),
    "issues": ("managed issue", "managed issues"),
    "kernels": ("kernel", "kernels"),
    "logins": ("login", "logins"),
    "maintenance": ("maintenance", "maintenance"),
    "nodebalancers": ("load balancer", "load balancers"),
    "nodes": ("node", "nodes"),
    "notifications": ("notification", "notifications"),
    "oauth-clients": ("OAuth client", "OAuth clients"),
    "pools": ("IPv6 pool", "IPv6 pools"),
    "ranges": ("IPv6 range", "IPv6 ranges"),
    "records": ("record", "records"),
    "regions": ("region", "regions"),
    "replies": ("reply", "replies"),
    "services": ("managed service", "managed services"),
    "sshkeys": ("SSH key", "SSH keys"),
    "stackscripts": ("StackScript", "StackScripts"),
    "tags": ("tag", "tags"),
    "tickets": ("ticket", "tickets"),
    "tokens": ("personal access token", "personal access tokens"),
    "types": ("instance type", "instance types"),
    "users": ("user", "users"),
    "vlans": ("VLAN", "VLANs"),
    "volumes": ("volume", "volumes"),
}
"""The object that each word of a path names, in the singular and the plural."""

NESTED_NOUNS = {
    ("nodebalancers", "configs"): ("config", "configs"),
    ("firewalls", "devices"): ("device", "devices"),
    ("nodebalancers", "configs", "nodes"): ("node", "nodes"),
}
"""The same for words that have another meaning below another word."""

KEYS = {
    "oauth-clients": "The client's id: 20 hex digits.",
    "users": "The user's name.",
    "kernels": "The kernel's id, such as `compute/latest-64bit`. The slash may be percent-encoded.",
    "types": "The type's id, such as `g6-nanode-1`.",
    "images": "The image's id, such as `private/12`. The slash may be percent-encoded.",
    "ips": "The address, IPv4 or IPv6, in any spelling.",
    "ranges": "The range's first address, with or without `/` and the length of its prefix.",
    "regions": "The region's id.",
    "tags": "The tag's label, percent-encoded where it needs to be.",
    "year": "The year, four digits, in UTC.",
    "month": "The month, 1 to 12.",
}
"""The descriptions of path parameters, by the word before them or their own name. All others are ids."""


def noun(words: list[str]) -> tuple[str, str]:
    """Return the singular and the plural of the object that a path ends in, by its words without parameters."""
    for known, nouns in NESTED_NOUNS.items():
        if words[-1] == known[-1] and all(word in words for word in known):
            return nouns
    if words[-1] not in NOUNS:
        raise ImproperlyConfigured(
            f"/{'/'.join(words)}: name one and many of {words[-1]} in NOUNS of config/api/openapi.py"
        )
    return NOUNS[words[-1]]


SINGLE = {
    "account": "the account",
    "settings": "the settings of the account",
    "profile": "the profile of the acting user",
}
"""Single objects, as summaries name them."""

ANSWERS = {
    "list": "A page of the list.",
    "retrieve": "The object.",
    "create": "The new object.",
    "update": "The changed object.",
}
"""The descriptions of a successful answer, by the action. For all other actions it is `Done.`"""
