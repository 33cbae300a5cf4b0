"""Serializers of the account and its settings."""

from typing import Any

from django.conf import settings
from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    EmailField,
    FloatField,
    ListField,
    UUIDField,
)

from config.api.common_fields import printable
from config.api.fields import Computed, Constant, PlatformTextField
from config.api.meanings import Meanings
from config.api.serializers import Resource

SERVICES = {
    "all": "Everything.",
    "backup": "Backups.",
    "blockstorage": "Volumes.",
    "db_mysql": "Databases, which this platform does not have.",
    "ip_v4": "IPv4 addresses.",
    "compute": "Instances.",
    "compute_disk": "Disks of instances.",
    "compute_memory": "Memory of instances.",
    "longview": "Monitoring clients, which this platform does not have.",
    "managed": "Managed monitoring.",
    "nodebalancer": "Load balancers.",
    "objectstorage": "Object storage, which this platform does not have.",
    "transfer_tx": "Outbound transfer.",
}
"""The services that a promotion can be for."""


class CreditCard(Resource):
    """The credit card of the account. This platform takes no payments, so there is none."""

    last_four = CharField(allow_null=True, help_text="The last four digits. Always null.")
    expiry = CharField(allow_null=True, help_text="Month and year. Always null.")


class Promotion(Resource):
    """A credit that the account received. There are none."""

    credit_monthly_cap = CharField(help_text="The maximum amount for each month, in USD.")
    credit_remaining = CharField(help_text="The remaining amount, in USD.")
    description = CharField(help_text="The long description of the promotion.")
    expire_dt = CharField(help_text="The time at which the promotion ends, in UTC.")
    image_url = CharField(help_text="The address of a picture.")
    summary = CharField(help_text="The short description of the promotion.")
    this_month_credit_remaining = CharField(help_text="The remaining amount for this month, in USD.")
    service_type = ChoiceField(
        list(SERVICES), help_text=Meanings("The service that the promotion applies to.", SERVICES)
    )


def capabilities() -> list[str]:
    return list(settings.ACCOUNT_CAPABILITIES)


def text(longest: int, help_text: str, **more: Any) -> CharField:
    return CharField(max_length=longest, allow_blank=True, help_text=help_text, **more)


class AccountResource(Resource):
    """The customer: name, addresses, and what the account can use."""

    first_name = text(
        50, "The first name of the person in charge; up to 50 characters.", validators=[printable("first_name")]
    )
    last_name = text(
        50, "The last name of the person in charge; up to 50 characters.", validators=[printable("last_name")]
    )
    company = text(128, "The company's name; up to 128 characters.", validators=[printable("company")])
    email = EmailField(max_length=128, help_text="The address for mails about the account.")
    phone = text(32, "A telephone number; up to 32 characters.")
    address_1 = text(64, "The first line of the postal address.")
    address_2 = text(64, "The second line of the address.")
    city = text(24, "The city of the postal address.")
    state = text(24, "The state or province of the postal address.")
    zip = text(16, "The postal code.")
    country = CharField(max_length=2, allow_blank=True, help_text="The country, as two letters of ISO 3166.")
    tax_id = text(25, "The number for taxes; up to 25 characters.")
    active_since = DateTimeField(
        source="created", read_only=True, help_text="The time at which the account was created, in UTC."
    )
    active_promotions = Constant(
        Promotion(many=True), [], help_text="Promotions. Always empty, because nothing is charged."
    )
    balance = Constant(FloatField(), 0.0, help_text="The balance in USD. Always 0, because nothing is charged.")
    balance_uninvoiced = Constant(
        FloatField(), 0.0, help_text="The amount that is not invoiced yet, in USD. Always 0."
    )
    billing_source = Constant(
        ChoiceField(["compute"]),
        "compute",
        help_text=Meanings("The billing source of the account.", {"compute": "This platform."}),
    )
    capabilities = Computed(
        ListField(child=PlatformTextField()),
        capabilities,
        help_text="The names of the features that the account can use.",
    )
    credit_card = Constant(
        CreditCard(), {"last_four": None, "expiry": None}, help_text="The stored credit card. There is none."
    )
    euuid = UUIDField(read_only=True, help_text="An identifier of the account for other systems. It never changes.")


class SettingsResource(Resource):
    """The settings of the whole account."""

    managed = BooleanField(
        read_only=True,
        help_text="Whether managed monitoring is enabled. `POST /account/settings/managed-enable` enables it.",
    )
    longview_subscription = Constant(
        CharField(allow_null=True), None, help_text="Always null: this platform has no such service."
    )
    network_helper = BooleanField(help_text="The default of the helper `network` in new configuration profiles.")
    backups_enabled = BooleanField(
        help_text="Whether all new instances have backups. If true, `backups_enabled` of a request has no effect."
    )
    object_storage = Constant(
        ChoiceField(["disabled", "suspended", "active"]),
        "disabled",
        help_text=Meanings(
            "Whether the account uses object storage.",
            {
                "disabled": "The account does not use it. Always so on this platform.",
                "suspended": "Not shown by this platform.",
                "active": "Not shown by this platform.",
            },
        ),
    )
