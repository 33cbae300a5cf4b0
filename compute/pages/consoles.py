"""Consoles in browsers: the page with a console, for customers and staff."""

import json
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.mixins import LoginRequiredMixin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.generic import TemplateView

from accounts.pages.base import Page, actor_of, signed_in
from accounts.pages.remembered_browsers import SESSION_KEY as DEVICE
from accounts.pages.session_store import hash_session_key
from accounts.pages.staff_second_factor import BY_KEY
from compute.models import Instance
from compute.services import consoles
from config.errors import DomainError, TooMany
from config.pages.policies import POLICY_OF_PAGES
from config.web.client_address import address_of
from config.web.headers import too_many

SOCKETS = {"http": "ws", "https": "wss"}


class _Console(Page, LoginRequiredMixin, TemplateView):
    """The page with a console, and the tickets that its script requests by POST.

    The answer is ``{"address": …}`` of the websocket, or ``{"reason": …, "occupied": …, "again": …}``: why there is
    no ticket, whether somebody else is at the console, and whether another request may succeed.
    """

    template_name = "compute/console.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        response = super().dispatch(request, *args, **kwargs)
        # the terminal writes styles of its own into the page
        styles = POLICY_OF_PAGES.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")
        response["Content-Security-Policy"] = f"{styles} {sockets_of(request)}"  # connect-src comes last
        return response

    def post(self, request: HttpRequest, pk: int) -> HttpResponse:
        try:
            wishes = json.loads(request.body or b"{}")
        except ValueError:
            wishes = None
        if not isinstance(wishes, dict):
            return _refused("The body must be a JSON object.")
        try:
            ticket = self.ticket(pk, wishes.get("take_over") is True, str(wishes.get("reason") or ""))
        except TooMany as error:
            return too_many(_refused(str(error)), error.seconds)
        except consoles.Occupied as error:
            return _refused(str(error), occupied=True)
        except DomainError as error:
            again = isinstance(error, consoles.Full) or str(error) == consoles.INSTANCE_OFF
            return _refused(str(error), again=again)
        return JsonResponse({"address": f"{sockets_of(request)}/consoles/{ticket}"})

    def ticket(self, pk: int, take_over: bool, reason: str) -> str:
        raise NotImplementedError

    def browser(self) -> consoles.Browser:
        request = self.request
        return consoles.Browser(
            origin=f"{request.scheme}://{request.get_host()}",
            session=hash_session_key(request.session.session_key or ""),
            ip=address_of(request) or None,
            device=request.session.get(DEVICE),
            by_key=bool(request.session.get(BY_KEY)),
        )


class ConsoleView(_Console):
    """``/home/instances/<id>/console``, for users who may change the instance.

    The page answers 403 to users who may only read the instance, as the API does, and 404 to all others.
    """

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        instance = self._instance(kwargs["pk"])
        trail = [("Instances", reverse("instances")), (instance.label, reverse("instance", args=[instance.pk]))]
        return super().get_context_data(instance=instance, trail=trail, **kwargs)

    def ticket(self, pk: int, take_over: bool, reason: str) -> str:
        return consoles.ask(signed_in(self.request), self._instance(pk), self.browser(), take_over=take_over)

    def _instance(self, pk: int) -> Instance:
        actor, rows = actor_of(signed_in(self.request)), Instance.objects.filter(pk=pk)
        instance = _found(rows.visible_to(actor).first())
        if actor.restricted and not rows.writable_by(actor).exists():
            raise PermissionDenied
        return instance


class StaffConsoleView(_Console):
    """``/admin/compute/instance/<id>/console/``, for staff who may use consoles. They must give a reason, which is
    logged."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        instance = self._instance(kwargs["pk"])
        back = reverse("admin:compute_instance_change", args=[instance.pk])
        trail = [("Admin", reverse("admin:index")), (instance.label, back)]
        return super().get_context_data(instance=instance, trail=trail, staff=True, **kwargs)

    def ticket(self, pk: int, take_over: bool, reason: str) -> str:
        user, instance = signed_in(self.request), self._instance(pk)
        return consoles.ask_as_staff(user, instance, self.browser(), reason, take_over=take_over)

    def _instance(self, pk: int) -> Instance:
        user = signed_in(self.request)
        if not user.is_staff or not user.has_perm(consoles.WRITE):
            raise PermissionDenied
        return _found(Instance.objects.filter(pk=pk).first())


def sockets_of(request: HttpRequest) -> str:
    """Return the origin of the websockets, such as ``wss://cloud.example.com``. Stream processes serve them."""
    site = settings.STREAM_URL or f"{request.scheme}://{request.get_host()}"
    parts = urlsplit(site)
    return f"{SOCKETS[parts.scheme]}://{parts.netloc}"


def _found(instance: Instance | None) -> Instance:
    if instance is None:
        raise Http404
    return instance


def _refused(reason: str, *, occupied: bool = False, again: bool = False) -> JsonResponse:
    return JsonResponse({"reason": reason, "occupied": occupied, "again": again}, status=400)
