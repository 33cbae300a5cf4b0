"""Fields of accounts: users, profile, tokens, settings, OAuth apps, support, and tags."""

from typing import Any

from tags.models import Tag
from tests.factories import InstanceFactory
from tests.policy import Scene


def another_tag(scene: Scene) -> str:
    """Return the label of a tag of the account."""
    return Tag.objects.get_or_create(account=scene.account, label="taken")[0].label


def theirs() -> int:
    """Return the id of a compute of another account."""
    return InstanceFactory().pk


NO_ADDRESS = "http://user:password@"
NOWHERE = 2**62
NO_ENTITY = [{"id": NOWHERE, "permissions": None}]
KINDS = ("compute", "nodebalancer", "domain", "stackscript", "longview", "image", "volume", "firewall", "database")
ABOUT = (
    "compute_id", "database_id", "domain_id", "firewall_id", "lkecluster_id", "longviewclient_id",
    "nodebalancer_id", "volume_id",
)  # fmt: skip

WRONG: dict[str, Any] = {
    "PUT /v4/account": lambda scene: {"country": "XX", "email": "nobody"},
    "POST /v4/account/oauth-clients": lambda scene: {"redirect_uri": NO_ADDRESS},
    "PUT /v4/account/oauth-clients/{id}": lambda scene: {"redirect_uri": NO_ADDRESS},
    "POST /v4/account/users": lambda scene: {"username": scene.member.username.upper(), "email": "nobody"},
    "PUT /v4/account/users/{id}": lambda scene: {"username": scene.world.actor.username, "email": "nobody"},
    "PUT /v4/account/users/{id}/grants": lambda scene: {
        "global": {"account_access": "root"},
        **dict.fromkeys(KINDS, NO_ENTITY),
    },
    "PUT /v4/profile": lambda scene: {
        "email": "nobody",
        "timezone": "Middle/Earth",
        "ip_whitelist_enabled": True,
        "two_factor_auth": True,
        "authorized_keys": ["no key"],
    },
    "POST /v4/profile/phone-number": lambda scene: {"iso_code": "XX", "phone_number": "1"},
    "POST /v4/profile/phone-number/verify": lambda scene: {"otp_code": "654321"},
    "POST /v4/profile/security-questions": lambda scene: {
        "security_questions": [{"question_id": 1, "response": "answer"}]
    },
    "POST /v4/profile/sshkeys": lambda scene: {"ssh_key": "no key"},
    "POST /v4/profile/tfa-enable-confirm": lambda scene: {"tfa_code": "000000"},
    "POST /v4/profile/tokens": lambda scene: {"scopes": "sky:read_only", "expiry": "2020-01-01T00:00:00"},
    "POST /v4/support/tickets": lambda scene: {**dict.fromkeys(ABOUT, NOWHERE), "vlan": "none", "region": "none"},
    "POST /v4/tags": lambda scene: {
        "label": another_tag(scene),
        **{f"{kind}s": [theirs()] for kind in ("compute", "domain", "volume", "nodebalancer")},
    },
}
FULL_BODIES: dict[str, Any] = {
    # without a region no label of a VLAN is checked
    "POST /v4/support/tickets": lambda scene: {
        "summary": "Help", "description": "It is dark.", "region": scene.world.region.pk
    },
}  # fmt: skip
DEPENDENT: dict[str, list[tuple[str, str]]] = {
    # a number belongs to a country, and a VLAN to a region
    "POST /v4/profile/phone-number": [("iso_code", "phone_number")],
    "POST /v4/support/tickets": [("vlan", "region")],
}
