"""The pages of the reference. Reading them needs no scripts, but trying out calls does."""

from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config.api.examples import installed_ids
from config.pages.policies import POLICY_WITHOUT_REDIRECTS as POLICY
from config.reference.own_objects import Reader, form_of
from config.reference.reading import Reference, reference
from config.reference.search import search


@never_cache
@require_safe
def introduction(request: HttpRequest) -> HttpResponse:
    """Show ``/docs``, and without scripts ``/docs?q=words``."""
    return _page(request, "docs/introduction.html", {})


@never_cache
@require_safe
def operation(request: HttpRequest, name: str) -> HttpResponse:
    """Show ``/docs/operations/<id>``."""
    read = reference()
    if name not in read.operations:
        raise Http404
    shown = read.operations[name].with_ids(installed_ids.get())
    form = form_of(shown, Reader.of(request.user))
    return _page(request, "docs/operation.html", {"operation": shown, "form": form})


@require_safe
def found(request: HttpRequest) -> HttpResponse:
    """Show ``/docs/found?q=words``: only the list at the side of the pages, for their script."""
    return render(request, "docs/list.html", _listed(request, reference()))


def _page(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    read = reference()
    minutes = settings.REFERENCE_TOKEN_LIFETIME // 60
    page = render(request, template, {"reference": read, "minutes": minutes, **_listed(request, read), **context})
    page["Content-Security-Policy"] = POLICY
    return page


def _listed(request: HttpRequest, read: Reference) -> dict[str, Any]:
    """Return all operations, or the results of the search."""
    words = request.GET.get("q", "")
    listed: dict[str, Any] = {"words": words, "number": len(read.operations)}
    if words.strip():
        return {**listed, "found": search(words)}
    return {**listed, "sections": read.sections}
