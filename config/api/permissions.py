"""Permission classes: the scope of the token, and the grant of the user.

Both read the declaration of the view's action (`config.api.operations`). A missing scope is a 401 with its reason,
a missing grant a 403. `HasScope` comes first, because a token without the scope must not learn about grants.
"""

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from config.api import access, reasons
from config.errors import ScopeLacking


class HasScope(BasePermission):
    """Allows callers whose token has the scopes of the action, and callers without a token if the action is public.

    DRF answers a refusal without a token with 401. A token without the scope raises `ScopeLacking` (401).
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        scope = view.operation.scope
        if view.caller is None:
            return not scope.token
        if not scope.allows(view.caller):
            raise ScopeLacking(reasons.SCOPE_LACKING)
        return True


class HasGrant(BasePermission):
    """Allows users that have the grant of the action.

    If the action changes an object, the user needs ``read_write`` on it, or on its parent if it has one. An object
    that the user may not see does not reach this check: it is a 404 by `get_queryset`.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        return view.caller is None or access.granted(view.caller, view.operation.grant)

    def has_object_permission(self, request: Request, view: Any, obj: Any) -> bool:
        if view.operation.grant != access.READ_WRITE or not view.actor.restricted:
            return True
        parents = view.get_parent_queryset()
        if parents is not None and not isinstance(obj, parents.model):
            return True  # the parent was checked before it
        return type(obj)._default_manager.writable_by(view.actor).filter(pk=obj.pk).exists()
