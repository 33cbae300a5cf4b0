"""Grants: the permissions of a restricted user, per entity and on the account."""

from collections.abc import Collection
from typing import Self

from django.db import models
from django.db.models import Exists, OuterRef

from accounts.actors import Actor
from accounts.models.users import User


class Level(models.TextChoices):
    """The level of a grant. read_write includes read_only."""

    READ_ONLY = "read_only"
    READ_WRITE = "read_write"


class GlobalGrants(models.Model):
    """The account-level grants of one restricted user. Without a row, all of them are off."""

    user = models.OneToOneField(User, primary_key=True, on_delete=models.CASCADE, related_name="global_grants")
    account_access = models.CharField(max_length=10, choices=Level, null=True, blank=True)
    add_computes = models.BooleanField(default=False)
    add_databases = models.BooleanField(default=False)
    add_domains = models.BooleanField(default=False)
    add_firewalls = models.BooleanField(default=False)
    add_images = models.BooleanField(default=False)
    add_longview = models.BooleanField(default=False)
    add_nodebalancers = models.BooleanField(default=False)
    add_stackscripts = models.BooleanField(default=False)
    add_volumes = models.BooleanField(default=False)
    cancel_account = models.BooleanField(default=False)
    longview_subscription = models.BooleanField(default=False)

    class Meta:
        verbose_name_plural = "global grants"

    def __str__(self) -> str:
        return f"global grants of {self.user}"

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the grants that are on or off, in their order: ``add_computes`` …"""
        return tuple(field.name for field in cls._meta.concrete_fields if isinstance(field, models.BooleanField))


class Grant(models.Model):
    """A restricted user's level on one entity. Without a row, the entity does not exist for that user.

    `entity_type` is a name registered in `accounts.entities`. There is no foreign key, because this app must not
    import the entity's app. The service that deletes an entity also deletes its grants.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="grants")
    entity_type = models.CharField(max_length=20)
    entity_id = models.BigIntegerField()
    permissions = models.CharField(max_length=10, choices=Level)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=("user", "entity_type", "entity_id"), name="one_grant_per_entity"),
        ]
        indexes = [models.Index(fields=("entity_type", "entity_id"), name="grant_entity")]

    def __str__(self) -> str:
        return f"{self.user}: {self.permissions} on {self.entity_type} {self.entity_id}"


class GrantedQuerySet(models.QuerySet):
    """Rows of a kind of entity that restricted users need grants on. `entity_type` is its registered name.

    The methods read only the actor's `account_id`, `user_id` and `restricted`, so that lists can compile their SQL
    once for all actors.
    """

    entity_type: str
    grant_key = "pk"
    """The column whose value grants store as `entity_id`."""

    def visible_to(self, actor: Actor) -> Self:
        """Return the rows that exist for `actor`: its account's rows, and if it is restricted only the granted
        ones.
        """
        mine = self.filter(account_id=actor.account_id)
        return mine.filter(Exists(self.grants(actor))) if actor.restricted else mine

    def writable_by(self, actor: Actor) -> Self:
        """Return the rows that `actor` may change.

        Writes to its other visible rows, which are read_only, answer 403.
        """
        mine = self.filter(account_id=actor.account_id)
        if not actor.restricted:
            return mine
        return mine.filter(Exists(self.grants(actor).filter(permissions=Level.READ_WRITE)))

    def writable_keys(self, actor: Actor, keys: Collection[int]) -> Collection[int]:
        """Return the keys of the rows that `actor` may change, among rows that it sees.

        One query if it is restricted.
        """
        if not actor.restricted:
            return keys
        return set(self.writable_by(actor).filter(pk__in=keys).values_list("pk", flat=True))

    def grants(self, actor: Actor) -> models.QuerySet[Grant]:
        mine = Grant.objects.filter(user_id=actor.person)
        return mine.filter(entity_type=self.entity_type, entity_id=OuterRef(self.grant_key))
