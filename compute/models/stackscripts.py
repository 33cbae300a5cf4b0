"""Deployment scripts."""

from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import BooleanField, Count, Exists, ExpressionWrapper, OuterRef, Q, Subquery, Value
from django.db.models.functions import MD5, Cast, Coalesce, Lower

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

    def for_api(self, actor: Actor | None) -> Self:
        """Return rows with further values of the API: `mine`, the author's gravatar, and the number of disks
        deployed with it."""
        author = User.objects.filter(username=OuterRef("username"), account_id=OuterRef("account_id"))
        disks = Disk.objects.filter(stackscript=OuterRef("pk")).order_by().values("stackscript")
        return self.annotate(
            mine=Cast(Value(False), BooleanField())  # PostgreSQL would take a bare parameter as text
            if actor is None
            else ExpressionWrapper(
                # without an account, the comparison would be neither true nor false
                Q(account_id=actor.account_id) & Q(account__isnull=False),
                output_field=BooleanField(),
            ),
            user_gravatar_id=MD5(Lower(Coalesce(Subquery(author.values("email")), Value("")))),
            deployments_active=Coalesce(Subquery(disks.annotate(number=Count("pk")).values("number")), Value(0)),
        )


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
