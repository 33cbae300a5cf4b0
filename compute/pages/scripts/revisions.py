"""The revisions of a deployment script: the texts that it has and had, and the differences between them."""

from functools import cached_property
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Length
from django.http import Http404
from django.urls import reverse
from django.views.generic import TemplateView

from compute.models import StackScript, StackScriptRevision
from compute.pages.scripts.script import ScriptPage
from compute.services.stackscripts.revisions import MAX_KEPT
from config.display.differences import TooDifferentError, differences


class RevisionPage(ScriptPage):
    """A page about the revisions of a script of the account.

    Other accounts, and restricted users without a grant, do not see the earlier texts of a public script: these
    may be from before its publication.
    """

    def get_queryset(self) -> QuerySet[StackScript]:
        return StackScript.objects.readable_in_account(self.actor).with_deployments()


class RevisionsView(RevisionPage, TemplateView):
    """``/home/scripts/<id>/revisions``: the kept revisions, the newest first."""

    template_name = "compute/script_revisions.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        rows = self.script.revisions.defer("script").annotate(length=Length("script"))
        return super().get_context_data(revisions=list(rows), most=MAX_KEPT, **kwargs)


class RevisionView(RevisionPage, TemplateView):
    """``/home/scripts/<id>/revisions/<number>``: a text, and its difference to the one before."""

    template_name = "compute/script_revision.html"

    @cached_property
    def revision(self) -> StackScriptRevision:
        return revision_of(self.script, self.kwargs["number"])

    def trail(self) -> list[tuple[str, str]]:
        return [*super().trail(), ("Revisions", self.address("script-revisions"))]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        revision = self.revision
        near = self.script.revisions.only("number", "stackscript_id")
        before = self.script.revisions.filter(number__lt=revision.number).first()
        after = near.filter(number__gt=revision.number).last()
        lines, too_different = [], False
        if before is not None:
            try:
                lines = differences(before.script, revision.script)
            except TooDifferentError:
                too_different = True
        return super().get_context_data(
            revision=revision,
            before=before,
            after=after,
            lines=lines,
            too_different=too_different,
            again=f"{reverse('script-edit', args=[self.script.pk])}?revision={revision.number}",
            **kwargs,
        )


def revision_of(script: StackScript, number: int) -> StackScriptRevision:
    """Return a revision of the script. Raises `Http404` if there is none of this number."""
    found = script.revisions.filter(number=number).first()
    if found is None:
        raise Http404
    return found
