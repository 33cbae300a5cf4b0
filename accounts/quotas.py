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
