"""The list of the account's tags, and a new tag."""

from collections.abc import Collection
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Lower
from django.urls import reverse

from accounts.entities import kind_of
from accounts.pages.objects import NewObjectForm, NewObjectPage, ObjectListPage
from config.pages.forms import ListField, TextField
from config.pages.grants import UNRESTRICTED
from config.pages.lists import Column, Verb
from config.pages.navigation import NOUNS
from tags.filters import TagListFilterSet
from tags.models import Tag, Tagging
from tags.serializers import KINDS, NewTag
from tags.services import MAX_LABEL_LENGTH, MIN_LABEL_LENGTH, labels

MAX_OFFERED = 200
"""Objects of each kind that the form lists. Others get the tag on their own pages."""


class TagsView(ObjectListPage):
    """``/home/tags``: the tags that the user may see, with the number of the objects that carry them."""

    template_name = "tags/tags.html"
    model = Tag
    noun = "tags"
    new = "tag-new"
    filterset_class = TagListFilterSet
    columns = (
        Column("Tag", "label", Lower("label")),
        Column("Objects", "objects"),
        Column("Created", "created"),
        Column(""),
    )

    def get_queryset(self) -> QuerySet[Tag]:
        carrying = Tagging.objects.visible_to(self.actor).filter(tag=OuterRef("pk")).order_by()
        number = Subquery(carrying.values("tag").annotate(number=Count("pk")).values("number"))
        return super().get_queryset().annotate(objects=Coalesce(number, 0))

    def writable(self, shown: list[Any]) -> Collection[int]:
        return () if self.actor.restricted else [tag.pk for tag in shown]

    def verbs_of(self, found: Tag) -> tuple[Verb, ...]:
        return (Verb("Delete", reverse("tag-delete", args=[found.pk])),)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        return {**context, "may_create": not self.actor.restricted}


class NewTagForm(NewObjectForm):
    """The label, and for each kind the objects that get the tag."""

    body = NewTag
    label = TextField(
        label="Label",
        help_text=f"{MIN_LABEL_LENGTH} to {MAX_LABEL_LENGTH} characters. Upper and lower case are different tags.",
    )

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        for name in KINDS:
            kind = kind_of(name)
            # every kind that carries tags has owners, so its manager has `visible_to`
            rows = kind.model._default_manager.visible_to(self.actor)  # type: ignore[attr-defined]
            found = [(row.pk, str(row)) for row in rows.order_by("label", "pk")[: MAX_OFFERED + 1]]
            if not found and not self.is_bound:
                continue
            text = "" if len(found) <= MAX_OFFERED else f"These are the first {MAX_OFFERED}."
            self.fields[f"{name}s"] = ListField(
                label=NOUNS[kind.noun].label, number=True, help_text=text, choices=found[:MAX_OFFERED]
            )


class NewTagView(NewObjectPage):
    """``/home/tags/new``: a tag with the objects that carry it."""

    template_name = "tags/tag_new.html"
    form_class = NewTagForm
    noun = "tags"
    operations = frozenset({"tags_create"})
    expensive = True
    grant = UNRESTRICTED
    heading = "Create a tag"
    introduction = (
        "Choose the objects that get the tag. You can also choose none, and tag objects on their own pages."
    )
    verb = "Create tag"
    made: Tag | None = None

    def perform(self, form: NewTagForm) -> str:
        given = form.given
        label = given.pop("label", None)
        wanted = {field.removesuffix("s"): keys for field, keys in given.items()}
        self.made = labels.create(self.actor, label, wanted, given.problems)
        return f"The tag {self.made} was created."

    def get_success_url(self) -> str:
        return reverse("tag", args=[self.made.pk]) if self.made else super().get_success_url()
