"""Deployment scripts."""

from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import BooleanField, Count, Exists, ExpressionWrapper, OuterRef, Q, Subquery, Value
from django.db.models.functions import MD5, Cast, Coalesce, Lower
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.models import Account, GrantedQuerySet, User
from compute.models.instances import Disk


class StackScriptQuerySet(GrantedQuerySet):
    entity_type = "stackscript"

    def visible_to(self, actor: Actor | None) -> Self:
        """Public scripts for everyone, and the account's own as far as a restricted user's grants go."""
        public = Q(is_public=True)
        if actor is None:
            return self.filter(public)
        mine = Q(account_id=actor.account_id)
        if actor.restricted:
            return self.filter(public | mine & Exists(self.grants(actor)))
        return self.filter(public | mine)

    def readable_in_account(self, actor: Actor) -> Self:
        """Return the scripts of the actor's account, as far as a restricted user's grants go: public ones need a
        grant too.
        """
        return super().visible_to(actor)

    def for_api(self, actor: Actor | None) -> Self:
        """Return rows with further values of the API: `mine`, the author's gravatar, and the number of disks
        deployed with it."""
        author = User.objects.filter(username=OuterRef("username"), account_id=OuterRef("account_id"))
        return self.annotate(
            mine=Cast(Value(False), BooleanField())  # PostgreSQL would take a bare parameter as text
            if actor is None
            else ExpressionWrapper(
                # without an account, the comparison would be neither true nor false
                Q(account_id=actor.account_id) & Q(account__isnull=False),
                output_field=BooleanField(),
            ),
            user_gravatar_id=MD5(Lower(Coalesce(Subquery(author.values("email")), Value("")))),
        ).with_deployments()

    def with_deployments(self) -> Self:
        """Return rows with `deployments_active`, the number of existing disks deployed with the script."""
        disks = Disk.objects.filter(stackscript=OuterRef("pk")).order_by().values("stackscript")
        number = Subquery(disks.annotate(number=Count("pk")).values("number"))
        return self.annotate(deployments_active=Coalesce(number, Value(0)))


class StackScript(models.Model):
    """A script that runs at the first boot of a disk deployed with it. The platform's own belong to no account.

    `user_defined_fields` is parsed from `script` on every write. `images` are the ids of images that the script can
    be deployed on, ``any/all`` for every one. `deployments_active` counts the existing disks that were deployed
    with the script.
    """

    account = models.ForeignKey(
        Account, null=True, blank=True, on_delete=models.CASCADE, related_name="stackscripts"
    )
    username = models.CharField(max_length=32)
    label = models.CharField(max_length=128)
    description = models.TextField(blank=True)
    images = ArrayField(models.CharField(max_length=64))
    is_public = models.BooleanField(default=False, help_text="The owner cannot make the StackScript private again.")
    rev_note = models.CharField(max_length=512, blank=True)
    script = models.TextField()
    user_defined_fields = models.JSONField(default=list)
    deployments_total = models.PositiveIntegerField(default=0)
    ordinal = models.PositiveIntegerField(default=0)
    logo_url = models.CharField(max_length=255, blank=True)
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)

    objects = StackScriptQuerySet.as_manager()

    class Meta:
        ordering = ("id",)
        indexes = [
            models.Index(fields=("id",), condition=Q(is_public=True), name="stackscript_public"),
            models.Index(fields=("account", "id"), name="stackscript_page"),
        ]

    def __str__(self) -> str:
        return self.label


class StackScriptRevision(models.Model):
    """A text that a script of an account has or had. The newest one is the present text.

    `number` counts the texts of the script from 1. The platform's own scripts have no revisions.
    """

    stackscript = models.ForeignKey(StackScript, on_delete=models.CASCADE, related_name="revisions", db_index=False)
    number = models.PositiveIntegerField()
    username = models.CharField(max_length=32, blank=True, help_text="The user who saved the text, if known.")
    rev_note = models.CharField(max_length=512, blank=True)
    script = models.TextField()
    created = models.DateTimeField(default=now)

    class Meta:
        ordering = ("-number",)
        constraints = [models.UniqueConstraint(fields=("stackscript", "number"), name="stackscript_revision")]

    def __str__(self) -> str:
        return f"revision {self.number}"
