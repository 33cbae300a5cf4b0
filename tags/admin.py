"""Tags, read-only: instances repeat their labels, which only services keep in step."""

from typing import TYPE_CHECKING, TypedDict

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest

from config.admin.pages import Panel, ReadOnlyPage
from tags.models import Tag

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations


class Counted(TypedDict):
    objects_number: int


@admin.register(Tag)
class TagPage(ReadOnlyPage):
    list_display = ("label", "account", "objects_count", "created")
    list_select_related = ("account",)
    search_fields = ("=account_id", "^label")
    search_help_text = "An account's id, or how a label begins."
    ordering = ("-id",)
    sortable_by = ()
    fields = ("label", "account", "created")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tag]:
        return super().get_queryset(request).annotate(objects_number=Count("taggings"))

    def panels(self, request: HttpRequest, obj: Tag) -> list[Panel]:
        rows = obj.taggings.order_by("entity_type", "entity_id")[:100]
        return [Panel.of("Is on", ("Kind", "Id"), ((row.entity_type, row.entity_id) for row in rows))]

    @admin.display(description="Objects")
    def objects_count(self, tag: "WithAnnotations[Tag, Counted]") -> int:
        return tag.objects_number
