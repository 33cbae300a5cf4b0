"""Regions: where services are offered."""

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html_join

from config.admin.display import BAD, GOOD, NOTHING, pill
from config.admin.pages import Page
from regions.models import Region


@admin.register(Region)
class RegionPage(Page):
    list_display = ("id", "country", "state", "offers")
    list_filter = ("status", "country")
    search_fields = ("^id",)
    fixed = ("id",)
    fieldsets = (
        (None, {"fields": ("id", "country", "status", "capabilities")}),
        ("Resolvers", {"fields": ("resolvers_ipv4", "resolvers_ipv6")}),
    )

    def has_delete_permission(self, request: HttpRequest, obj: Region | None = None) -> bool:
        """Never: its pools would go with it, and clients know it by its name."""
        return False

    @admin.display(description="Status")
    def state(self, region: Region):
        return pill(region.status, GOOD if region.status == Region.Status.OK else BAD)

    @admin.display(description="Offers")
    def offers(self, region: Region):
        return format_html_join(" ", "{}", ((pill(name),) for name in region.capabilities)) or NOTHING
