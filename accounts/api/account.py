"""The account as a whole: the customer, and its settings."""

from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from rest_framework.request import Request
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

from accounts.actors import Actor
from accounts.api.scopes import READ, WRITE
from accounts.models import Account
from accounts.services import account as services
from config.api.access import ACCOUNT_READ, ACCOUNT_WRITE
from config.api.fields import Computed, Constant
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet

SERVICES = (
    "all", "backup", "blockstorage", "db_mysql", "ip_v4", "compute", "compute_disk", "compute_memory", "longview",
    "managed", "nodebalancer", "objectstorage", "transfer_tx",
)  # fmt: skip
"""What promotions are for."""


class CreditCard(Resource):
    """There are no payments here, and so no card."""

    last_four = CharField(allow_null=True)
    expiry = CharField(allow_null=True)


class Promotion(Resource):
    credit_monthly_cap = CharField()
    credit_remaining = CharField()
    description = CharField()
    expire_dt = CharField()
    image_url = CharField()
    summary = CharField()
    this_month_credit_remaining = CharField()
    service_type = ChoiceField(SERVICES)


def capabilities() -> list[str]:
    return list(settings.ACCOUNT_CAPABILITIES)


def text(longest: int) -> CharField:
    return CharField(max_length=longest, allow_blank=True)


class AccountResource(Resource):
    """The customer."""

    first_name = text(50)
    last_name = text(50)
    company = text(128)
    email = EmailField(max_length=128)
    phone = text(32)
    address_1 = text(64)
    address_2 = text(64)
    city = text(24)
    state = text(24)
    zip = text(16)
    country = CharField(max_length=2, allow_blank=True, help_text="The country's two letters.")
    tax_id = text(25)
    active_since = DateTimeField(source="created", read_only=True)
    active_promotions = Constant(Promotion(many=True), [])
    balance = Constant(FloatField(), 0.0)
    balance_uninvoiced = Constant(FloatField(), 0.0)
    billing_source = Constant(ChoiceField(["akamai", "compute"]), "compute")
    capabilities = Computed(ListField(child=CharField()), capabilities)
    credit_card = Constant(CreditCard(), {"last_four": None, "expiry": None})
    euuid = UUIDField(read_only=True)


class SettingsResource(Resource):
    """What holds for the whole account."""

    managed = BooleanField(read_only=True, help_text="Enabled with /account/settings/managed-enable.")
    longview_subscription = Constant(CharField(allow_null=True), None)
    network_helper = BooleanField(help_text="For configuration profiles that say nothing of it.")
    backups_enabled = BooleanField(help_text="For computes that are created from now on.")
    object_storage = Constant(ChoiceField(["disabled", "suspended", "active"]), "disabled")


class _OwnViewSet(ResourceViewSet[Actor, Account]):
    """The account of the acting user, which no path names."""

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Account]:
        return Account.objects.filter(pk=actor.account_id)

    def own(self) -> Account:
        return Account.objects.get(pk=self.actor.account_id)

    def retrieve(self, request: Request, **path: Any) -> JSONResponse:
        return super().retrieve(request, id=self.actor.account_id)


class AccountViewSet(_OwnViewSet):
    """The customer."""

    resource = AccountResource
    scopes = {"retrieve": READ, "update": WRITE}
    grants = {"retrieve": ACCOUNT_READ, "update": ACCOUNT_WRITE}

    def update(self, request: Request) -> JSONResponse:
        """Change what is given of the customer's name and address."""
        account = self.own()
        services.update(self.actor, account, self.validated(partial=True))
        return self.answer(account)


class SettingsViewSet(_OwnViewSet):
    """Settings of the account."""

    resource = SettingsResource
    scopes = {"retrieve": READ, "update": WRITE, "enable_managed": WRITE}
    grants = {"retrieve": ACCOUNT_READ, "update": ACCOUNT_WRITE, "enable_managed": ACCOUNT_WRITE}

    def update(self, request: Request) -> JSONResponse:
        """Change settings of the account. They hold for what is created later."""
        account = self.own()
        services.update_settings(self.actor, account, self.validated(partial=True))
        return self.answer(account)

    def enable_managed(self, request: Request) -> JSONResponse:
        """Turn managed monitoring on for the account."""
        services.enable_managed(self.actor, self.own())
        return JSONResponse()
