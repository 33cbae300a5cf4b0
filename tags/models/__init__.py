"""Tags, and the entities that carry them."""

from typing import Self

from django.db import models
from django.db.models import Exists, OuterRef

from accounts.actors import Actor
from accounts.models import Account, Grant


class TagQuerySet(models.QuerySet["Tag"]):
    """Reads only the attributes of an actor that compiled SQL supports, as `GrantedQuerySet` does."""

    def visible_to(self, actor: Actor) -> Self:
        """Return the account's tags. A restricted user gets the tags of objects that it may see."""
        mine = self.filter(account_id=actor.account_id)
        if not actor.restricted:
            return mine
        return mine.filter(Exists(Tagging.objects.visible_to(actor).filter(tag=OuterRef("pk"))))


class Tag(models.Model):
    """A label of an account, compared exactly. A tag outlives the last object that carries it."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="tags")
    label = models.CharField(max_length=50)
    created = models.DateTimeField(auto_now_add=True)

    objects = TagQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=("account", "label"),
                name="tag_label",
                violation_error_message="This tag exists already.",
                violation_error_code="label",
            )
        ]

    def __str__(self) -> str:
        return self.label


class TaggingQuerySet(models.QuerySet["Tagging"]):
    def visible_to(self, actor: Actor) -> Self:
        """Return the account's tags on entities that the actor may see."""
        mine = self.filter(tag__account_id=actor.account_id)
        if not actor.restricted:
            return mine
        granted = Grant.objects.filter(
            user_id=actor.person, entity_type=OuterRef("entity_type"), entity_id=OuterRef("entity_id")
        )
        return mine.filter(Exists(granted))


class Tagging(models.Model):
    """A tag on one entity. `entity_type` is a name registered in `accounts.entities`."""

    tag = models.ForeignKey(Tag, on_delete=models.CASCADE, related_name="taggings")
    entity_type = models.CharField(max_length=20)
    entity_id = models.BigIntegerField()

    objects = TaggingQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=("tag", "entity_type", "entity_id"), name="tagging_once"),
        ]
        indexes = [models.Index(fields=("entity_type", "entity_id"), name="tagging_entity")]

    def __str__(self) -> str:
        return f"{self.tag} on {self.entity_type} {self.entity_id}"
