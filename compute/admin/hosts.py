"""Hosts: where instances run, and whether they take new ones."""

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html

from compute.models import Host, Instance
from config.admin.display import GOOD, QUIET, list_of, pill
from config.admin.pages import Page


@admin.register(Host)
class HostPage(Page):
    list_display = ("label", "region", "state", "instances_count", "uuid")
    list_select_related = ("region",)
    list_filter = ("region", "enabled")
    search_fields = ("^label",)
    ordering = ("label",)
    fields = ("label", "region", "enabled", "uuid", "instances_count", "created")
    readonly_fields = ("uuid", "instances_count", "created")
    fixed = ("region",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Host]:
        return super().get_queryset(request).annotate(instances_number=Count("instances"))

    @admin.display(description="New instances")
    def state(self, host: Host):
        return pill("takes them", GOOD) if host.enabled else pill("takes none", QUIET)

    @admin.display(description="Instances")
    def instances_count(self, host: Host):
        number = getattr(host, "instances_number", 0)
        return format_html('<a href="{}">{}</a>', list_of(Instance, host__id__exact=host.pk), number)
