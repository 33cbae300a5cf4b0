"""The maximum numbers of objects for an account or a user: the table of all quotas.

Each has a setting. Staff can raise it for single accounts in the admin. `accounts.services.quotas` compares.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quota:
    """The number of `nouns` that an `owner` may have, by default from the settings."""

    setting: str
    nouns: str
    owner: str = "An account"

    def reason(self, most: int) -> str:
        """Return the reason for a refusal at `most`, which says how to get more."""
        return f"{self.owner} has at most {most} {self.nouns}: ask support for more."


USER = "A user"

QUOTAS = {
    "users": Quota("QUOTA_USERS", "users"),
    "tokens": Quota("QUOTA_TOKENS", "personal access tokens", USER),
    "ssh_keys": Quota("QUOTA_SSH_KEYS", "SSH keys", USER),
    "oauth_clients": Quota("QUOTA_OAUTH_CLIENTS", "OAuth clients"),
    "tickets": Quota("QUOTA_TICKETS", "tickets that are not closed"),
    "ticket_files": Quota("QUOTA_TICKET_FILES", "files in its tickets"),
    "tags": Quota("QUOTA_TAGS", "tags"),
    "images": Quota("QUOTA_IMAGES", "images of its own"),
    "stackscripts": Quota("QUOTA_STACKSCRIPTS", "StackScripts"),
    "firewalls": Quota("QUOTA_FIREWALLS", "firewalls"),
    "domains": Quota("QUOTA_DOMAINS", "domains"),
    "records": Quota("QUOTA_RECORDS", "records", "A domain"),
    "nodebalancers": Quota("NODEBALANCERS", "nodebalancers in a region"),
    "ipv6_ranges": Quota("IPV6_RANGES", "IPv6 ranges in a region"),
    "managed_services": Quota("MANAGED_SERVICES", "managed services"),
    "managed_contacts": Quota("MANAGED_CONTACTS", "managed contacts"),
    "managed_credentials": Quota("MANAGED_CREDENTIALS", "managed credentials"),
}
"""By name, as in `Account.quotas`."""


@dataclass(frozen=True, slots=True)
class ResourceQuota:
    """A limit of what an account may use at once, in `unit`. `name` is its key in limits and counters."""

    name: str
    nouns: str
    unit: str = ""

    def reason(self, limit: int, used: int, more: int) -> str:
        """Return the reason for a refusal: the limit, the use, and how to get more."""
        unit = f" {self.unit}" if self.unit else ""
        return (
            f"The account's quota of {self.nouns} is {limit}{unit}: {used}{unit} used, {more}{unit} more needed. "
            "Open a support ticket to ask for more."
        )


RESOURCE_QUOTAS = {
    quota.name: quota
    for quota in (
        ResourceQuota("instances", "computes"),
        ResourceQuota("vcpus", "vCPUs"),
        ResourceQuota("memory", "memory of computes", "MB"),
        ResourceQuota("gpus", "GPUs"),
        ResourceQuota("disk", "disk space of computes", "MB"),
        ResourceQuota("volumes", "volumes"),
        ResourceQuota("volume_storage", "storage of volumes", "GB"),
        ResourceQuota("backup_storage", "storage of backups", "MB"),
        ResourceQuota("image_storage", "storage of images", "MB"),
        ResourceQuota("total_ipv6_ranges", "IPv6 ranges"),
        ResourceQuota("total_nodebalancers", "nodebalancers"),
    )
}
"""By name, as in `TrustLevel.limits`, in `Account.quotas`, and as the columns of `ResourceUse`."""

NEW, TRUSTED, UNLIMITED = "new", "trusted", "unlimited"

LEVELS: dict[str, dict[str, int]] = {
    NEW: {
        "instances": 10, "vcpus": 20, "memory": 40 * 1024, "gpus": 0, "disk": 800 * 1024,
        "volumes": 10, "volume_storage": 1000, "backup_storage": 1000 * 1024, "image_storage": 100 * 1024,
        "total_ipv6_ranges": 5, "total_nodebalancers": 3,
    },
    TRUSTED: {
        "instances": 100, "vcpus": 400, "memory": 1600 * 1024, "gpus": 8, "disk": 16_000 * 1024,
        "volumes": 200, "volume_storage": 50_000, "backup_storage": 20_000 * 1024, "image_storage": 2000 * 1024,
        "total_ipv6_ranges": 100, "total_nodebalancers": 50,
    },
    UNLIMITED: {},
}  # fmt: skip
"""The limits of the levels that need no row. A row of `TrustLevel` replaces those of its level. A quota that is not
named has no limit."""
