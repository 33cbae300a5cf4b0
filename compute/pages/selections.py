"""Verbs of several instances at once. Each instance is changed in its own transaction, with the checks of one."""

from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.views.generic import FormView, TemplateView

from accounts.actors import Actor
from accounts.pages.base import AccountPage
from compute.models import Instance
from compute.services.instances import instances, power
from config.display.integers import is_id
from config.display.plurals import counted
from config.errors import Denied, DomainError, Missing
from config.pages.lists import ListView, query_back
from config.pages.reasons import reason_on_page
from config.pages.views import JobMessage, confirm
from tags.services import MAX_LABEL_LENGTH, MIN_LABEL_LENGTH, check_labels

MAX_CHOSEN = ListView.paginate_by
NONE_CHOSEN = "Choose at least one instance."
TOO_MANY_CHOSEN = f"Choose at most {MAX_CHOSEN} instances."

POWER = {
    "boot": (power.boot, JobMessage("Booting"), "Not booted", "Running already"),
    "reboot": (power.reboot, JobMessage("Rebooting"), "Not rebooted", ""),
    "shutdown": (power.shutdown, JobMessage("Shutting down"), "Not shut down", "Off already"),
}
"""The verbs that need no other page, by the value of their button: the service, and the words of the results.

The last words are for a service that returns None, because the instance needs no job.
"""
PAGES = {"tag": "instances-tag", "delete": "instances-delete"}
"""The verbs that have a page of their own, by the value of their button."""

Service = Callable[[Actor, Instance], Any]


def chosen_ids(texts: Iterable[str]) -> list[int]:
    """The ids that a form or an address names, each once and in their order. Texts that are no ids are left out."""
    return list(dict.fromkeys(int(text) for text in texts if is_id(text)))


class SelectionPage(AccountPage):
    """A page about chosen rows of the list. ``?back=`` has the query of the list, to which the page returns."""

    @cached_property
    def chosen(self) -> list[int]:
        return chosen_ids(self.request.GET.getlist("id"))

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if request.user.is_authenticated and not 0 < len(self.chosen) <= MAX_CHOSEN:
            messages.error(request, TOO_MANY_CHOSEN if self.chosen else NONE_CHOSEN)
            return redirect(self.get_success_url())
        return super().dispatch(request, *args, **kwargs)

    @property
    def back(self) -> str:
        """The query of the list."""
        return query_back(self.request)

    def get_success_url(self) -> str:
        return f"{reverse('instances')}?{self.back}" if self.back else reverse("instances")

    def selection(self) -> dict[str, Any]:
        """Context of a page that asks: the chosen instances that the user may change, and the way back."""
        rows = Instance.objects.writable_by(self.actor).filter(pk__in=self.chosen).order_by("label", "pk")
        back = self.get_success_url()
        return {"rows": list(rows), "back": back, "trail": [("Instances", back)]}

    def change_each(self, service: Service, done: str, refused: str, unneeded: str = "") -> HttpResponse:
        """Call the service for each chosen instance. The messages of the next page name all, with the reasons.

        `done` is a `JobMessage` if the service starts jobs. With `unneeded`, a separate message names the instances
        for which the service returned None.
        """
        results, reasons = _change_each(self.actor, self.chosen, service)
        same = [label for label, result in results if unneeded and result is None]
        changed = [label for label, result in results if not unneeded or result is not None]
        if changed:
            confirm(self.request, type(done)(f"{done}: {', '.join(changed)}"))
        if same:
            messages.info(self.request, f"{unneeded}: {', '.join(same)}")
        if reasons:
            lines = format_html_join("", "<li>{}: {}</li>", reasons)
            messages.error(self.request, format_html("<div>{}:<ul>{}</ul></div>", refused, lines))
        return redirect(self.get_success_url())


class SelectedView(SelectionPage):
    """``/home/instances/selected``: the verb of the button, for the ticked rows of the list."""

    operations = frozenset({"compute_instances_boot", "compute_instances_reboot", "compute_instances_shutdown"})
    http_method_names = ["post"]

    @cached_property
    def chosen(self) -> list[int]:
        return chosen_ids(self.request.POST.getlist("id"))

    def post(self, request: HttpRequest) -> HttpResponse:
        verb = request.POST.get("verb", "")
        if verb in POWER:
            return self.change_each(*POWER[verb])
        if verb in PAGES:
            query = urlencode({"id": self.chosen, "back": self.back}, doseq=True)
            return redirect(f"{reverse(PAGES[verb])}?{query}")
        return HttpResponseBadRequest("This action does not exist.", content_type="text/plain")


class DeleteSelectedView(SelectionPage, TemplateView):
    """``/home/instances/delete?id=…``: asks before it deletes the chosen instances."""

    operations = frozenset({"compute_instances_destroy"})
    template_name = "compute/instances_delete.html"
    extra_context = {"heading": "Delete instances", "dangerous": True}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        selection = self.selection()
        count = len(selection["rows"])
        return super().get_context_data(
            verb=f"Delete {counted(count, 'instance')}",
            unavailable="" if count else "You may not delete any of the chosen instances.",
            **selection,
            **kwargs,
        )

    def post(self, request: HttpRequest) -> HttpResponse:
        return self.change_each(instances.delete, JobMessage("Deleting"), "Not deleted")


class TagForm(forms.Form):
    tag = forms.CharField(
        label="Tag",
        help_text=f"{MIN_LABEL_LENGTH} to {MAX_LABEL_LENGTH} characters. A new tag is created.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autofocus": True, "list": "tags"}),
    )

    def clean_tag(self) -> str:
        tag: str = self.cleaned_data["tag"]
        for _, reason in check_labels([tag]):
            raise forms.ValidationError(reason)
        return tag


class TagSelectedView(SelectionPage, FormView):
    """``/home/instances/tag?id=…``: adds a tag to the chosen instances, or removes it from them.

    Restricted users may not change tags.
    """

    operations = frozenset({"compute_instances_update"})
    template_name = "compute/instances_tag.html"
    extra_context = {"heading": "Tag instances"}
    form_class = TagForm

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if request.user.is_authenticated and self.actor.restricted:
            raise PermissionDenied
        return super().dispatch(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        selection = self.selection()
        tags = sorted({tag for row in selection["rows"] for tag in row.tags})
        unavailable = "" if selection["rows"] else "You may not tag any of the chosen instances."
        return super().get_context_data(**selection, tags=tags, unavailable=unavailable, **kwargs)

    def form_valid(self, form: TagForm) -> HttpResponse:
        tag = form.cleaned_data["tag"]
        if self.request.POST.get("verb") == "remove":
            return self.change_each(_without(tag), f"Tag {tag} removed", f"Tag {tag} not removed")
        return self.change_each(_with(tag), f"Tag {tag} added", f"Tag {tag} not added")


def _with(tag: str) -> Service:
    return lambda actor, instance: instances.add_tag(actor, instance, tag)


def _without(tag: str) -> Service:
    return lambda actor, instance: instances.remove_tag(actor, instance, tag)


def _change_each(
    actor: Actor, ids: Collection[int], service: Service
) -> tuple[list[tuple[str, Any]], list[tuple[str, str]]]:
    """The labels of the instances with the results of the service, and the labels of the refused ones with the
    reasons."""
    rows = Instance.objects.visible_to(actor).in_bulk(ids)
    writable = Instance.objects.writable_keys(actor, list(rows))
    results: list[tuple[str, Any]] = []
    reasons = []
    for pk in ids:
        try:
            if pk not in rows:
                raise Missing
            if pk not in writable:
                raise Denied
            result = service(actor, rows[pk])
        except DomainError as error:
            label = rows[pk].label if pk in rows else f"Instance {pk}"
            reasons.append((label, " ".join(map(reason_on_page, error.problems))))
        else:
            results.append((rows[pk].label, result))
    return results, reasons
