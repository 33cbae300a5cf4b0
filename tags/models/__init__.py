"""Tags, and the entities that carry them."""

from django.db import models

from accounts.models import Account


class Tag(models.Model):
    """A label of an account, compared exactly. A tag outlives the last object that carries it."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="tags")
    label = models.CharField(max_length=50)
    created = models.DateTimeField(auto_now_add=True)

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


class Tagging(models.Model):
    """A tag on one entity. `entity_type` is a name registered in `accounts.entities`."""

    tag = models.ForeignKey(Tag, on_delete=models.CASCADE, related_name="taggings")
    entity_type = models.CharField(max_length=20)
    entity_id = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=("tag", "entity_type", "entity_id"), name="tagging_once"),
        ]
        indexes = [models.Index(fields=("entity_type", "entity_id"), name="tagging_entity")]

    def __str__(self) -> str:
        return f"{self.tag} on {self.entity_type} {self.entity_id}"
