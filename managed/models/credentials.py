"""The secrets with which staff log in to an account's computes: passwords, and a key pair of each account."""

from django.db import models
from django.db.models import Q

from accounts.models import Account
from config.encryption import EncryptedField
from managed.models.owned import OwnedQuerySet


class Credential(models.Model):
    """A username and a password that the account gave. Encrypted. The API never returns either.

    Only `managed.services.credentials.decrypt` reads them, for staff who give a reason.
    """

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="managed_credentials")
    label = models.CharField(max_length=75)
    encrypted = EncryptedField(editable=False)
    created = models.DateTimeField(auto_now_add=True)
    last_decrypted = models.DateTimeField(null=True, blank=True)

    objects = OwnedQuerySet["Credential"].as_manager()

    class Meta:
        ordering = ("id",)
        permissions = [("decrypt_credential", "Can read secrets of credentials")]
        constraints = [
            models.UniqueConstraint(
                fields=("account", "label"),
                name="credential_label",
                violation_error_message="Label must be unique among your credentials.",
                violation_error_code="label",
            ),
        ]

    def __str__(self) -> str:
        return self.label


class KeyPair(models.Model):
    """The SSH key pair with which staff log in to an account's computes. The account installs the public key."""

    account = models.OneToOneField(Account, primary_key=True, on_delete=models.CASCADE, related_name="managed_key")
    public = models.TextField(help_text="A line of an authorized_keys file.")
    encrypted = EncryptedField(editable=False)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        permissions = [("decrypt_keypair", "Can read private keys")]

    def __str__(self) -> str:
        return f"SSH key of {self.account}"


class Decryption(models.Model):
    """The record that staff read a credential or a private key, and why. The row outlives the credential."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="+")
    credential = models.ForeignKey(
        Credential, null=True, blank=True, on_delete=models.SET_NULL, related_name="decryptions"
    )
    key_pair = models.ForeignKey(
        KeyPair, null=True, blank=True, on_delete=models.CASCADE, related_name="decryptions"
    )
    label = models.CharField(max_length=75, help_text="The label of the credential at that time.")
    username = models.CharField(max_length=150, help_text="The username of the reader.")
    reason = models.CharField(max_length=500)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.CheckConstraint(condition=Q(credential=None) | Q(key_pair=None), name="decryption_of_one"),
        ]

    def __str__(self) -> str:
        return f"{self.label} by {self.username}"
