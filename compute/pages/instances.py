"""The pages of instances: one instance's overview, and its head, which updates itself."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.generic import TemplateView

from accounts.models import Event
from compute.pages.base import InstancePage, InstanceTab, state_of
from config.pages.views import fragment

EVENTS_SHOWN = 8


class InstanceView(InstanceTab, TemplateView):
    """``/home/instances/<id>``: what the instance is made of, and what happened to it."""

    template_name = "compute/instance_overview.html"
    tab = "instance"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        events = Event.objects.visible_to(self.actor).filter(entity_type="compute", entity_id=self.instance.pk)
        return super().get_context_data(events=events.order_by("-pk")[:EVENTS_SHOWN], **kwargs)


class InstanceStateView(InstancePage, TemplateView):
    """``/home/instances/<id>/state?seen=…``: the head of the instance's pages, if it has changed."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        context = {"instance": self.instance, "may_change": self.may_change, **state_of(self.instance)}
        return fragment(request, "compute/instance_state.html", context)
