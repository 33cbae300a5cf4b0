"""Serializers of the users of the account."""

from django.contrib.postgres.expressions import ArraySubquery
from django.core.validators import RegexValidator
from django.db.models import OuterRef
from rest_framework.serializers import BooleanField, CharField, EmailField, ListField

from accounts.models import SSHKey
from accounts.models.users import NAME
from accounts.serializers.profile import GrantsResource
from config.api.fields import Annotated
from config.api.reasons import not_valid
from config.api.serializers import Resource

LABELS = ArraySubquery(SSHKey.objects.filter(user=OuterRef("pk")).order_by("pk").values("label"))

WRONG_NAME = not_valid(
    "username", "letters, digits, - and _ only, first and last a letter or a digit, and no two of - _ in a row"
)


class UserResource(Resource):
    """A user of the account."""

    username = CharField(
        min_length=3,
        max_length=32,
        validators=[RegexValidator(NAME, WRONG_NAME)],
        help_text="The name that the user signs in with: 3 to 32 letters, digits, dashes and underscores.",
    )
    email = EmailField(max_length=128, help_text="The user's mail address.")
    restricted = BooleanField(
        required=False, help_text="Whether the user is limited to its grants. By default true."
    )
    ssh_keys = Annotated(ListField(child=CharField()), LABELS, help_text="The labels of the user's SSH keys.")
    tfa_enabled = BooleanField(
        source="two_factor_auth", read_only=True, help_text="Whether two-factor authentication is enabled."
    )
    verified_phone_number = CharField(
        allow_null=True, read_only=True, help_text="The telephone number for codes. Null if there is none."
    )


class AllGrantsResource(GrantsResource):
    """Grants on every entity of the account, of every kind. `permissions` is null if the user has no grant on
    it.
    """
