"""The page of a deployment script; making it public, and deleting it."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.db.models import Exists, OuterRef, QuerySet
from django.urls import reverse
from django.views.generic import TemplateView

from accounts.actors import Actor
from accounts.pages.objects import ObjectConfirmationPage, ObjectPage
from compute.models import Image, StackScript
from compute.pages.activity import events_about
from compute.pages.script_fields import describe
from compute.services.stackscripts import stackscripts
from config import word
from config.pages.lists import Verb
from config.pages.navigation import NOUNS

IS_PUBLIC = "The script is public already."


class ScriptPage(ObjectPage):
    """A page of one script that the user may see: one of the account, or a public one."""

    model = StackScript
    noun = "scripts"
    home = "script"

    def get_queryset(self) -> QuerySet[StackScript]:
        return StackScript.objects.visible_to(self.actor).with_deployments()

    @property
    def script(self) -> StackScript:
        found: StackScript = self.object
        return found

    @cached_property
    def may_change(self) -> bool:
        """Whether the user may change the script. Only its own account may change a public one."""
        return self.script.account_id == self.actor.account_id and super().may_change


class ScriptView(ScriptPage, TemplateView):
    """``/home/scripts/<id>``: the text of a script, its fields, its images, its deployments and its history."""

    template_name = "compute/script.html"
    tab = "script"

    def get_queryset(self) -> QuerySet[StackScript]:
        readable = StackScript.objects.readable_in_account(self.actor).filter(pk=OuterRef("pk"))
        return super().get_queryset().annotate(has_revisions=Exists(readable))

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        script = self.script
        images = dict(Image.objects.visible_to(self.actor).filter(pk__in=script.images).values_list("pk", "label"))
        events = events_about(self.actor, "stackscript", script.pk, self.request.GET.get("page"))
        return super().get_context_data(
            verbs=verbs_of(self.actor, script, may_change=self.may_change),
            fields=describe(script.user_defined_fields),
            every_image=stackscripts.ANY in script.images,
            images=[images.get(each, word.on_wire(each)) for each in script.images],
            **events,
            **kwargs,
        )


class PublishScriptView(ScriptPage, ObjectConfirmationPage):
    """``/home/scripts/<id>/publish``."""

    operations = frozenset({"compute_stackscripts_update"})
    heading = "Make {page.script} public"
    introduction = (
        "All accounts can then see and deploy the script. You cannot make it private again. Its images and the "
        "scripts that it includes must be public."
    )
    verb = "Make public"

    def unavailable(self) -> str:
        return IS_PUBLIC if self.script.is_public else ""

    def perform(self, form: forms.Form) -> str:
        stackscripts.update(self.actor, self.script, {"is_public": True})
        return f"The script {self.script} is public."


class DeleteScriptView(ScriptPage, ObjectConfirmationPage):
    """``/home/scripts/<id>/delete``."""

    operations = frozenset({"compute_stackscripts_destroy"})
    heading = "Delete {page.script}"
    introduction = "Deletes the script. Disks that were deployed with it stay. This cannot be undone."
    verb = "Delete script"

    def perform(self, form: forms.Form) -> str:
        stackscripts.delete(self.actor, self.script)
        return f"The script {self.script} was deleted."

    def get_success_url(self) -> str:
        return NOUNS[self.noun].address


def verbs_of(actor: Actor, script: StackScript, *, may_change: bool) -> tuple[Verb, ...]:
    """Return what a user can do with a script. The first one is to deploy it, if the user may create instances."""

    def verbs() -> Iterator[Verb]:
        if actor.may("add_computes"):
            yield Verb("Create instance", deploy_address(script))
        if may_change:
            yield Verb("Edit", reverse("script-edit", args=[script.pk]))
            yield Verb(
                "Make public", reverse("script-publish", args=[script.pk]), IS_PUBLIC if script.is_public else ""
            )
            yield Verb("Delete", reverse("script-delete", args=[script.pk]))

    return tuple(verbs())


def deploy_address(script: StackScript) -> str:
    """Return the address of the form for an instance with this script, and with its image if it has only one."""
    query: dict[str, Any] = {"stackscript_id": script.pk}
    if len(script.images) == 1 and stackscripts.ANY not in script.images:
        query["image"] = script.images[0]
    return f"{reverse('instance-new')}?{urlencode(query)}"
