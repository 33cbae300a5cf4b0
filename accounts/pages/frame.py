"""The context of the frame: the navigation that a user sees."""

from functools import partial
from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from accounts.pages.base import signed_in, with_grants
from config.pages.grants import granted
from config.pages.navigation import Entry, entries


def frame(request: HttpRequest) -> dict[str, Any]:
    """Context processor: adds `navigation`, the entries that the user may open, in groups.

    Only templates that show the frame compute it.
    """
    return {"navigation": SimpleLazyObject(partial(_navigation, request))}


def _navigation(request: HttpRequest) -> list[tuple[str, list[Entry]]]:
    return entries(request.path, partial(granted, with_grants(signed_in(request))))
