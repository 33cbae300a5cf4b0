"""Users: the people and robots of an account, and the platform's staff."""

from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Upper
from django.utils.crypto import salted_hmac

from accounts.models.accounts import Account

TAKEN = "Username is taken"
NAME = r"^[A-Za-z0-9](?:[A-Za-z0-9]|[-_](?![-_]))+[A-Za-z0-9]\Z"
"""Letters, digits, and between them single dashes and underscores."""


class UserManager(BaseUserManager["User"]):
    def create_user(self, username: str, email: str = "", password: str | None = None, **fields: Any) -> "User":
        """Create a user of ``fields["account"]``. Without a password, the user can only use tokens."""
        user = self.model(username=username, email=self.normalize_email(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(
        self, username: str, email: str = "", password: str | None = None, **fields: Any
    ) -> "User":
        """Create a staff user with every admin permission and no account."""
        return self.create_user(username, email, password, is_staff=True, is_superuser=True, **fields)


# The stubs do not know the managers of django-oauth-toolkit's models: the toolkit has no type hints.
class User(AbstractBaseUser, PermissionsMixin):  # type: ignore[django-manager-missing]
    """A person or program that acts on one account through tokens and pages or, as staff, in the admin.

    A `restricted` user has only the permissions of its grants. Any other user of the account has all permissions.
    """

    PASSWORD = "password"
    """The `authentication_type` of users with a password here. Any other value names a provider."""

    class LishAuthMethod(models.TextChoices):
        PASSWORD_KEYS = "password_keys"
        KEYS_ONLY = "keys_only"
        DISABLED = "disabled"

    username = models.CharField(
        max_length=32,
        validators=[RegexValidator(NAME)],
    )
    email = models.EmailField(max_length=128)
    account = models.ForeignKey(
        Account, null=True, blank=True, on_delete=models.CASCADE, related_name="users",
        help_text="Empty for staff, who act on the platform and not on an account.",
    )  # fmt: skip
    restricted = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    date_joined = models.DateTimeField(auto_now_add=True)

    timezone = models.CharField(max_length=64, default="UTC")
    email_notifications = models.BooleanField(default=True)
    ip_whitelist_enabled = models.BooleanField(default=False)
    lish_auth_method = models.CharField(max_length=16, choices=LishAuthMethod, default=LishAuthMethod.PASSWORD_KEYS)
    lish_authorized_keys = ArrayField(models.TextField(), null=True, blank=True)
    two_factor_auth = models.BooleanField(default=False)
    verified_phone_number = models.CharField(max_length=20, null=True, blank=True)
    authentication_type = models.CharField(max_length=32, default=PASSWORD)
    logged_out = models.PositiveIntegerField(
        default=0,
        db_default=0,
        editable=False,
        help_text="The number of times that staff ended all sessions of the user.",
    )

    USERNAME_FIELD = "username"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = ["email"]

    objects: ClassVar[UserManager] = UserManager()

    class Meta:
        ordering = ("id",)
        constraints = [
            models.CheckConstraint(
                condition=models.Q(account__isnull=False) | models.Q(restricted=False),
                name="user_restricted_needs_account",
            ),
            models.UniqueConstraint(
                fields=("username",),
                name="username",
                violation_error_message=TAKEN,
                violation_error_code="username",
            ),
            models.UniqueConstraint(
                # The expression by which `iexact` compares.
                Upper("username"),
                name="username_in_any_case",
                violation_error_message=TAKEN,
                violation_error_code="username",
            ),
        ]

    def __str__(self) -> str:
        return self.username

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Return the hash that sessions store of the user: of the password, and of `logged_out` once that is set.

        Django has no public hook for this: its own method includes only the password.
        """
        if not self.logged_out:
            return super()._get_session_auth_hash(secret=secret)  # type: ignore[misc] # not in the stubs
        salt = "accounts.models.User.logged_out"
        state = f"{self.logged_out}:{self.password}"
        return salted_hmac(salt, state, secret=secret, algorithm="sha256").hexdigest()


class SSHKey(models.Model):
    """A public key on a user's profile, put on new instances by ``authorized_users``."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="ssh_keys")
    label = models.CharField(max_length=64, blank=True)
    ssh_key = models.TextField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        verbose_name = "SSH key"

    def __str__(self) -> str:
        return self.label or f"key {self.pk}"
