"""Serializers of the acting user and of grants."""

import hashlib
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.conf import settings
from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    EmailField,
    IntegerField,
)

from accounts.models import Level, User
from accounts.serializers.ssh_keys import PublicKeyField
from accounts.ssh_keys import MAX_KEY_LENGTH
from config.api.common_fields import IdField
from config.api.fields import Computed, NullWhenEmptyField
from config.api.meanings import Meanings
from config.api.serializers import Resource

AUTHENTICATION_TYPES = list(
    dict.fromkeys(["password", "github", *([settings.OPENID.authentication_type] if settings.OPENID else [])])
)
"""The types that clients know, and the identifier of the configured provider."""
AUTHENTICATION_MEANS = {
    **dict.fromkeys(AUTHENTICATION_TYPES, "With a provider, if the installation has one."),
    "password": "With name and password.",
}

REFERRALS_FROM = Decimal(25)
"""USD that an account must have paid in total before it has a referral code."""


class Referrals(Resource):
    """The referral code of the account, and counts of referred people. Staff open accounts, so all counts are 0."""

    code = CharField(help_text="The referral code of the account. Empty until the account has paid 25.00 USD.")
    url = CharField(help_text="The address with the referral code. Empty until the account has paid 25.00 USD.")
    total = IntegerField(help_text="The number of people who used the code.")
    completed = IntegerField(help_text="The number of these people whose referral is complete.")
    pending = IntegerField(help_text="The number of these people whose referral is pending.")
    credit = IntegerField(help_text="The earned amount in USD.")


def referrals(paid: Decimal, account: UUID) -> dict[str, Any]:
    """Return the referrals of an account, from its total payments in USD and its `euuid`.

    Code and address are empty if the account has paid less than `REFERRALS_FROM`.
    """
    counts = dict.fromkeys(("total", "completed", "pending", "credit"), 0)
    if paid < REFERRALS_FROM:
        return {"code": "", "url": "", **counts}
    code = hashlib.sha256(f"referrals of {account}".encode()).hexdigest()[:40]
    return {"code": code, "url": f"{settings.SITE_URL}/?r={code}", **counts}


class ProfileResource(Resource):
    """The acting user."""

    uid = IntegerField(source="id", read_only=True, help_text="The user's number. It never changes.")
    username = CharField(read_only=True, help_text="The name that the user signs in with.")
    email = EmailField(max_length=128, help_text="The user's mail address.")
    verified_phone_number = CharField(
        allow_null=True,
        read_only=True,
        help_text="The telephone number for codes, with the code of its country. Null if there is none.",
    )
    timezone = CharField(
        max_length=64,
        help_text="The user's time zone, a name in the tz database such as `Europe/Oslo`. Clients can show "
        "times in it. Times of the API are in UTC.",
    )
    email_notifications = BooleanField(help_text="Whether mails about events are sent. Some mails are always sent.")
    referrals = Computed(
        Referrals(),
        referrals,
        "account__total_payments",
        "account__euuid",
        help_text="The referral code of the account. It is shown after the account has paid 25.00 USD in total.",
    )
    ip_whitelist_enabled = BooleanField(
        help_text="Whether the IP allow list is enabled. It is deprecated: it can be disabled, but not "
        "enabled again."
    )
    lish_auth_method = ChoiceField(
        User.LishAuthMethod.choices,
        help_text=Meanings(
            "The authentication methods for consoles.",
            {
                "password_keys": "Password or key.",
                "keys_only": "Key.",
                "disabled": "No access.",
            },
        ),
    )
    authorized_keys = NullWhenEmptyField(
        child=PublicKeyField(max_length=MAX_KEY_LENGTH),
        max_length=100,
        source="lish_authorized_keys",
        allow_null=True,
        help_text="Public keys for consoles, at most 100. Null if there are none.",
    )
    two_factor_auth = BooleanField(
        help_text="Whether two-factor authentication is enabled. This field can only disable it. `POST "
        "/profile/tfa-enable` enables it."
    )
    restricted = BooleanField(
        help_text="Whether the user is limited to its grants. A user can set this for itself, but cannot unset it."
    )
    authentication_type = ChoiceField(
        AUTHENTICATION_TYPES,
        read_only=True,
        help_text=Meanings("The authentication method of the user.", AUTHENTICATION_MEANS),
    )


LEVELS_MEAN = {
    Level.READ_ONLY.value: "Read access.",
    Level.READ_WRITE.value: "Read and write access.",
    "null": "No access.",
}


class GlobalGrantsResource(Resource):
    """The permissions of a restricted user on the account as a whole."""

    account_access = ChoiceField(
        Level.choices,
        allow_null=True,
        required=False,
        help_text=Meanings("The user's permission on the account.", LEVELS_MEAN),
    )
    add_computes = BooleanField(required=False, help_text="Whether the user may create instances.")
    add_databases = BooleanField(
        required=False, help_text="Whether the user may create databases, which this platform does not have."
    )
    add_domains = BooleanField(required=False, help_text="Whether the user may add domains.")
    add_firewalls = BooleanField(required=False, help_text="Whether the user may create firewalls.")
    add_images = BooleanField(required=False, help_text="Whether the user may create images.")
    add_longview = BooleanField(
        required=False,
        help_text="Whether the user may create monitoring clients, which this platform does not have.",
    )
    add_nodebalancers = BooleanField(required=False, help_text="Whether the user may create load balancers.")
    add_stackscripts = BooleanField(required=False, help_text="Whether the user may create StackScripts.")
    add_volumes = BooleanField(required=False, help_text="Whether the user may create volumes.")
    cancel_account = BooleanField(required=False, help_text="Whether the user may close the account.")
    longview_subscription = BooleanField(
        required=False, help_text="Whether the user may change a subscription that this platform does not have."
    )


class GrantResource(Resource):
    """The permission of a restricted user on one entity."""

    id = IdField(min_value=1, help_text="The entity's number.")
    label = CharField(read_only=True, help_text="The entity's name.")
    permissions = ChoiceField(
        Level.choices, allow_null=True, help_text=Meanings("The user's permission on the entity.", LEVELS_MEAN)
    )


def _grants(many: str) -> GrantResource:
    return GrantResource(many=True, required=False, help_text=f"{many}, each with the permission of the user.")


class GrantsResource(Resource):
    """The grants of a restricted user. Kinds of entity on which the user has no grant are omitted."""

    global_ = GlobalGrantsResource(help_text="The user's permissions for the whole account.")
    compute = _grants("Instances")
    database = _grants("Databases, of which this platform has none")
    domain = _grants("Domains")
    firewall = _grants("Firewalls")
    image = _grants("Images")
    longview = _grants("Monitoring clients, of which this platform has none")
    nodebalancer = _grants("Load balancers")
    stackscript = _grants("StackScripts")
    volume = _grants("Volumes")

    class Meta:
        sometimes = (
            "compute", "database", "domain", "firewall", "image", "longview", "nodebalancer", "stackscript",
            "volume",
        )  # fmt: skip
