"""A tag with the objects that carry it, and its deletion."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django import forms
from django.db.models import Count, QuerySet
from django.urls import reverse
from django.views.generic import TemplateView

from accounts.entities import EntityKind, kinds
from accounts.pages.entity_pages import address_of
from accounts.pages.objects import ObjectConfirmationPage, ObjectPage
from config.display.plurals import counted
from config.pages.grants import UNRESTRICTED
from config.pages.navigation import NOUNS
from tags.models import Tag, Tagging
from tags.services import labels

MAX_SHOWN = 100
"""Objects of each kind that the page shows."""


@dataclass(frozen=True, slots=True)
class Group:
    """Objects of one noun: pairs of label and address. `number` counts all of them."""

    noun: str
    slug: str
    number: int
    objects: list[tuple[str, str]]

    @property
    def more(self) -> int:
        return self.number - len(self.objects)


class TagPage(ObjectPage):
    """A page of a tag that the user may see. Only unrestricted users can change tags."""

    model = Tag
    noun = "tags"
    home = "tag"

    @cached_property
    def may_change(self) -> bool:
        return self.object is not None and not self.actor.restricted

    @cached_property
    def carrying(self) -> QuerySet[Tagging]:
        """The tag on the objects that the user may see."""
        return Tagging.objects.visible_to(self.actor).filter(tag=self.object)


class TagView(TagPage, TemplateView):
    """``/home/tags/<id>``: the objects that carry the tag, by kind."""

    template_name = "tags/tag.html"
    tab = "tag"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(tag=self.object, groups=list(self._groups()), **kwargs)

    def _groups(self) -> Iterator[Group]:
        """Yield the kinds that have objects with the tag. One query, and one for each kind."""
        counts = self.carrying.order_by().values_list("entity_type").annotate(Count("pk"))
        numbers = dict(counts)
        by_noun = {kind.noun: kind for kind in kinds() if kind.name in numbers}
        for slug in NOUNS:
            if slug in by_noun:
                yield self._group(by_noun[slug], numbers[by_noun[slug].name])

    def _group(self, kind: EntityKind, number: int) -> Group:
        keys = self.carrying.filter(entity_type=kind.name).values("entity_id")
        # every kind that carries tags has owners, so its manager has `visible_to`
        seen = kind.model._default_manager.visible_to(self.actor)  # type: ignore[attr-defined]
        rows = seen.filter(pk__in=keys).order_by("label", "pk")[:MAX_SHOWN]
        objects = [(str(row), address_of(kind, row)) for row in rows]
        return Group(NOUNS[kind.noun].label, kind.noun, number, objects)


class DeleteTagView(TagPage, ObjectConfirmationPage):
    """``/home/tags/<id>/delete``."""

    operations = frozenset({"tags_destroy"})
    expensive = True
    grant = UNRESTRICTED
    heading = "Delete the tag {page.object}"
    introduction = "{page.loss} The objects stay. This cannot be undone."
    verb = "Delete tag"

    @property
    def loss(self) -> str:
        number = self.carrying.count()
        return f"The tag is removed from {counted(number, 'object')}." if number else "No object has the tag."

    def perform(self, form: forms.Form) -> str:
        labels.delete(self.actor, self.object)
        return f"The tag {self.object} was deleted."

    def get_success_url(self) -> str:
        return reverse("tags")

    def back_address(self) -> str:
        return self.address("tag")
