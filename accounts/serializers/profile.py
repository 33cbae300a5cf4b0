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
    **dict.fromkeys(AUTHENTICATION_TYPES, "With the provider of that name."),
    "password": "With name and password.",
    "github": "Not used by this platform.",
}

REFERRALS_FROM = Decimal(25)
"""USD that an account must have paid in total before it has a referral code."""


class Referrals(Resource):
    """The referral code of the account, and counts of referred people. Staff open accounts, so all counts are 0."""

    code = CharField(help_text="The account's own code; empty before the account has paid 25.00 USD.")
    url = CharField(help_text="The address with the code in it; empty before the account has paid 25.00 USD.")
    total = IntegerField(help_text="How many people used it.")
    completed = IntegerField(help_text="How many of them have stayed.")
    pending = IntegerField(help_text="Those of whom it is not known yet.")
    credit = IntegerField(help_text="USD that were earned.")


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

    uid = IntegerField(source="id", read_only=True, help_text="The user's number; never changes.")
    username = CharField(read_only=True, help_text="The name that the user signs in with.")
    email = EmailField(max_length=128, help_text="Where mails to the user go.")
    verified_phone_number = CharField(
        allow_null=True,
        read_only=True,
        help_text="The telephone number that codes are sent to, with its country; null without.",
    )
    timezone = CharField(
        max_length=64,
        help_text="The user's time zone, a name of the tz database such as `Europe/Oslo`, for clients "
        "to show times in. The API itself speaks UTC.",
    )
    email_notifications = BooleanField(help_text="Whether mails about events are sent. Some are sent in any case.")
    referrals = Computed(
        Referrals(),
        referrals,
        "account__total_payments",
        "account__euuid",
        help_text="The referral code of the account, once the account has paid 25.00 USD in total.",
    )
    ip_whitelist_enabled = BooleanField(help_text="An older safeguard that can be turned off, and not on again.")
    lish_auth_method = ChoiceField(
        User.LishAuthMethod.choices,
        help_text=Meanings(
            "How the user may sign in to consoles.",
            {
                "password_keys": "With password or key.",
                "keys_only": "With a key.",
                "disabled": "Not at all.",
            },
        ),
    )
    authorized_keys = NullWhenEmptyField(
        child=PublicKeyField(max_length=MAX_KEY_LENGTH),
        max_length=100,
        source="lish_authorized_keys",
        allow_null=True,
        help_text="Public keys for consoles, at most 100; null if there are none.",
    )
    two_factor_auth = BooleanField(
        help_text="Whether signing in takes a second factor. Here it can only be turned off; `POST "
        "/profile/tfa-enable` turns it on."
    )
    restricted = BooleanField(
        help_text="Whether the user may only do what it is granted. A user may restrict itself, and "
        "never lift that."
    )
    authentication_type = ChoiceField(
        AUTHENTICATION_TYPES, read_only=True, help_text=Meanings("How the user signs in.", AUTHENTICATION_MEANS)
    )


LEVELS_MEAN = {
    Level.READ_ONLY.value: "See it.",
    Level.READ_WRITE.value: "See and change it.",
    "null": "Nothing: it is not shown.",
}


class GlobalGrantsResource(Resource):
    """The permissions of a restricted user on the account as a whole."""

    account_access = ChoiceField(
        Level.choices,
        allow_null=True,
        required=False,
        help_text=Meanings("What the user may do with the account itself.", LEVELS_MEAN),
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
        Level.choices, allow_null=True, help_text=Meanings("What the user may do with it.", LEVELS_MEAN)
    )


def _grants(many: str) -> GrantResource:
    return GrantResource(many=True, required=False, help_text=f"{many}, each with what the user may do with it.")


class GrantsResource(Resource):
    """The grants of a restricted user. Kinds of entity on which the user has no grant are omitted."""

    global_ = GlobalGrantsResource(help_text="What holds for the whole account.")
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
