"""`ResourceViewSet`: the work that all endpoints have in common, in the order in which it is done.

The caller (401), the rate limits (429), the method (405), the token's scope (401) and the user's grant (403) are
checked by `config.api.admission`. Then the action runs (`config.api.reading`, `config.api.writing`), whose objects
come only from `objects(actor, path)`, so that an object that is not the caller's is a 404. Apps import from here.
"""

from typing import Any

from django.conf import settings
from django.urls import reverse
from rest_framework.request import Request

from config.api import access
from config.api.admission import NO_STORE, QUARTER_HOUR, A, expensive
from config.api.reading import M, ReadingUnion
from config.api.responses import JSONResponse
from config.api.writing import Writing
from config.errors import Missing

__all__ = ["NO_STORE", "QUARTER_HOUR", "About", "ResourceViewSet", "UnionViewSet", "UnknownPath", "expensive"]


class ResourceViewSet(Writing[A, M]):
    """Base of all views of the API. Gives `list` and `retrieve`; other actions are methods of the subclass.

    Subclasses declare `resource`, `objects`, and for each action a scope and a grant (`config.api.access`).
    Actions return a `JSONResponse`. Views with actions of their own name their actor and their model for the type
    checker: ``ResourceViewSet[Actor, Instance]``.
    """


class UnionViewSet(ReadingUnion[A], ResourceViewSet[A, Any]):
    """Base of views whose list has objects of several tables: they declare `tables` in place of `objects`."""


class About(ResourceViewSet):
    """``/v4`` itself: what answers here, and where it is described.

    It is no operation of the contract, and so not in the document: clients made from that would have a method more.
    """

    scopes = {"about": access.PUBLIC}
    grants = {"about": access.ANYONE}
    schema = None

    def about(self, request: Request) -> JSONResponse:
        return JSONResponse(
            {
                "name": settings.SPECTACULAR_SETTINGS["TITLE"],
                "version": settings.API_REVISION,
                "documentation": f"{settings.SITE_URL}{reverse('docs')}",
                "openapi": f"{settings.SITE_URL}{reverse('openapi-json')}",
            }
        )


class UnknownPath(ResourceViewSet):
    """Whatever no other route matches: 404 in the error body, counted like any request."""

    scopes = {"missing": access.PUBLIC}
    grants = {"missing": access.ANYONE}
    schema = None

    def authenticate(self, request: Request) -> None:
        super().authenticate(request)  # only to know whom to count

    def missing(self, request: Request, **path: Any) -> JSONResponse:
        raise Missing
