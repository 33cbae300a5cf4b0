"""The log of the actions of staff."""

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest


def staff_id(request: HttpRequest) -> int:
    """Return the id of the user for entries of the log. Raises `PermissionDenied` for an anonymous request."""
    if request.user.pk is None:
        raise PermissionDenied
    return request.user.pk
