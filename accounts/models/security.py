"""Proofs of a user's identity besides the password: second factor, security questions, phone."""

from django.db import models
from django.db.models.functions import Now

from accounts.models.users import User
from config.encryption import EncryptedField


class SecondFactor(models.Model):
    """The TOTP secret of a user, and the `pending` secret that is being set up, both encrypted.

    `last_step` is the time step of the last accepted code: no code is accepted twice. `scratch` is the SHA-256 of
    the code that works once in place of the app.
    """

    user = models.OneToOneField(User, primary_key=True, on_delete=models.CASCADE, related_name="second_factor")
    encrypted = EncryptedField(null=True, editable=False)
    last_step = models.BigIntegerField(default=0)
    scratch = models.CharField(max_length=64, blank=True, editable=False)
    pending = EncryptedField(null=True, editable=False)
    pending_until = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"second factor of {self.user}"


class SecurityKey(models.Model):
    """A security key (WebAuthn) that a user signs in with in place of a code, while the second factor is on.

    `sign_count` is the key's counter at its last use. If a key counts and its counter did not grow, the key was
    copied. Keys that do not count leave it at 0.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="security_keys")
    name = models.CharField(max_length=64)
    credential = models.BinaryField(unique=True, help_text="The id of the security key's credential for this site.")
    public_key = models.BinaryField(help_text="The public key in COSE format.")
    sign_count = models.BigIntegerField(db_default=0)
    created = models.DateTimeField(db_default=Now())
    last_used = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return self.name


class SecurityAnswer(models.Model):
    """A user's answer to one of the questions, hashed like a password."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="security_answers")
    question_id = models.PositiveSmallIntegerField()
    response = models.CharField(max_length=128, editable=False)

    class Meta:
        ordering = ("question_id",)
        constraints = [models.UniqueConstraint(fields=("user", "question_id"), name="one_answer_per_question")]

    def __str__(self) -> str:
        return f"answer of {self.user} to question {self.question_id}"


class PhoneVerification(models.Model):
    """A code that was sent to a phone number.

    It is encrypted and not hashed, since a valid code is sent again unchanged.
    """

    user = models.OneToOneField(User, primary_key=True, on_delete=models.CASCADE, related_name="phone_verification")
    number = models.CharField(max_length=20)
    encrypted = EncryptedField(editable=False)
    attempts = models.PositiveSmallIntegerField(default=0)
    expiry = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.number} of {self.user}"
