"""The queryset of rows that belong to the account as a whole: only its unrestricted users may use managed
monitoring.
"""

from typing import Self, TypeVar

from django.db import models

from accounts.actors import Actor

M = TypeVar("M", bound=models.Model)


class OwnedQuerySet(models.QuerySet[M]):
    def visible_to(self, actor: Actor) -> Self:
        return self.filter(account_id=actor.account_id)
