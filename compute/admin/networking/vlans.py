"""VLANs: their accounts, and the instances on them."""

from django.contrib import admin
from django.http import HttpRequest

from accounts.admin.filters import AccountFilter
from compute.models import VLAN, Instance
from config.admin.pages import Panel, ReadOnlyPage
from config.admin.tasks import Task
from config.admin.value_formats import link
from config.display.statuses import status_pill


@admin.register(VLAN)
class VLANPage(ReadOnlyPage):
    """VLANs, which clients create by naming them in profiles. A VLAN that no profile names any more may be listed
    for a while."""

    task = Task.NETWORK
    list_display = ("label", "account", "region", "age")
    list_select_related = ("account", "region")
    list_filter = (AccountFilter, "region")
    link_filters = ("account__id__exact",)
    search_fields = ("=account_id", "^label")
    search_help_text = "How a label begins, or an account's id."
    ordering = ("-id",)
    sortable_by = ()
    fields = ("label", "account", "region", "created")

    def panels(self, request: HttpRequest, obj: VLAN) -> list[Panel]:
        """The instances whose profiles name the VLAN."""
        interface = [{"purpose": "vlan", "label": obj.label}]
        there = Instance.objects.filter(account=obj.account_id, region=obj.region_id)
        on_it = there.filter(configs__interfaces__contains=interface).distinct().order_by("pk")
        rows = ((link(instance), instance.pk, status_pill(instance.status)) for instance in on_it)
        return [Panel.of("Instances in this VLAN", ("Label", "Id", "Status"), rows)]
