"""Tags, read-only. Instances repeat their labels, and only services keep both consistent."""

from typing import TYPE_CHECKING, TypedDict

from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest

from accounts.admin.filters import AccountFilter
from accounts.admin.panels import entity_link
from config.admin.pages import Panel, ReadOnlyPage
from config.admin.search import Hit, Kind, contains, findable
from config.admin.tasks import Task
from tags.models import Tag

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations


class Counted(TypedDict):
    objects_number: int


@admin.register(Tag)
class TagPage(ReadOnlyPage):
    task = Task.CUSTOMERS
    list_display = ("label", "account", "objects_count", "age")
    list_select_related = ("account",)
    list_filter = (AccountFilter,)
    search_fields = ("=account_id", "^label")
    search_help_text = "An account's id, or how a label begins."
    ordering = ("-id",)
    sortable_by = ()
    fields = ("label", "account", "created")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tag]:
        return super().get_queryset(request).annotate(objects_number=Count("taggings"))

    def panels(self, request: HttpRequest, obj: Tag) -> list[Panel]:
        rows = obj.taggings.order_by("entity_type", "entity_id")[:100]
        found = ((entity_link(row.entity_type, row.entity_id, ""),) for row in rows)
        return [Panel.of("Objects with this tag", ("Object",), found)]

    @admin.display(description="Objects")
    def objects_count(self, tag: "WithAnnotations[Tag, Counted]") -> int:
        return tag.objects_number


findable(
    Kind(
        Tag,
        lambda: Tag.objects.select_related("account"),
        lambda row: Hit(row.label, "", [row.account]),
        lambda term: Q(label=term.text),
        contains("label"),
    )
)
