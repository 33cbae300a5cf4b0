"""Operations: the requirements of each viewset action on its caller, and the bodies of its request and answer.

An action declares everything in one place, at its method::

    @action(detail=True, methods=["post"])
    @operation(WRITE, READ_WRITE, request=DiskResize)
    def resize(self, request: Request, compute_id: int, id: int) -> Response: ...

`list` and `retrieve` come from mixins. Their scope and grant are the view's `required_scopes` and `required_grant`.
The lane of `list` is the view's `lane_of_list`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import getmembers_static, isfunction
from typing import Any, TypeVar

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.api.access import Scope, check_grant_name

F = TypeVar("F", bound=Callable[..., Any])

BY_ACTION: Any = object()
"""A placeholder for a body that is not declared. The name of the action decides whether the body is the view's
`serializer_class` or none."""

READ_ACTIONS = ("list", "retrieve")
"""The actions that the view's `required_scopes` and `required_grant` are for."""
WITH_BODY = ("create", "update")
"""The actions whose body is the view's `serializer_class`, unless they declare another one."""
ANSWERED_BY_OBJECT = (*READ_ACTIONS, *WITH_BODY)
"""The actions that answer with the view's `serializer_class`, unless they declare another one."""


@dataclass(frozen=True, slots=True)
class Operation:
    """The declaration of one action. See `operation` for its fields."""

    scope: Scope
    grant: str
    request: Any = BY_ACTION
    response: Any = BY_ACTION
    throttle_scope: str | None = None
    lane: str | None = None
    refusals: tuple[int, ...] = ()
    noun: str | None = None
    whole: bool = False
    expensive: bool = False


def operation(
    scope: Scope | str | tuple[str, ...],
    grant: str,
    *,
    request: Any = BY_ACTION,
    response: Any = BY_ACTION,
    throttle_scope: str | None = None,
    lane: str | None = None,
    refusals: tuple[int, ...] = (),
    noun: str | None = None,
    whole: bool = False,
) -> Callable[[F], F]:
    """Declare an action of a viewset. An unknown grant raises an error at import.

    `scope`: the scope that the token needs, several that are needed together, or a `config.api.access.Scope`.
    `grant`: the grant that a restricted user needs (`config.api.access`).
    `request`: the serializer of the body, None for no body. By default `create` and `update` have the view's, and
    others none.
    `response`: the serializer of the answer or a schema for the document, None for ``{}``. By default `retrieve`,
    `create` and `update` have the view's, and others answer ``{}``.
    `throttle_scope`: the name of a limit in the setting RATE_LIMITS, which counts in addition to the limits of all
    requests.
    `lane`: the lane that answers, if it is not the usual one (`config.server.lanes`).
    `refusals`: for the document: statuses that do not follow from the rest.
    `noun`: for the document: the last word of the operation's id, if the method alone says too little.
    `whole`: for the document: the body of an `update` must have all required fields. Usually, fields that are left
    out keep their values.
    """
    declared = Operation(
        Scope.of(scope), check_grant_name(grant), request, response, throttle_scope, lane, refusals, noun, whole
    )

    def decorate(function: F) -> F:
        function.operation = declared  # type: ignore[attr-defined] # read by `operations_of`
        return function

    return decorate


def operations_of(view: type) -> dict[str, Operation]:
    """Return the declarations of a viewset's actions by their names.

    Raises `ImproperlyConfigured` if only one of `required_scopes` and `required_grant` is there, and for a limit
    that the setting RATE_LIMITS does not have.
    """
    found = {}
    for name, method in getmembers_static(view, isfunction):
        if declared := getattr(method, "operation", None):
            found[name] = replace(declared, expensive=getattr(method, "expensive", False))
    scope, grant = getattr(view, "required_scopes", None), getattr(view, "required_grant", None)
    if (scope is None) != (grant is None):
        raise ImproperlyConfigured(f"{view.__name__}: declare both required_scopes and required_grant, or none")
    if scope is not None and grant is not None:
        for name in READ_ACTIONS:
            if hasattr(view, name) and name not in found:
                expensive = getattr(getattr(view, name), "expensive", False)
                lane = getattr(view, "lane_of_list", None) if name == "list" else None
                found[name] = Operation(Scope.of(scope), check_grant_name(grant), lane=lane, expensive=expensive)
    named = {getattr(view, "throttle_scope", None), *(each.throttle_scope for each in found.values())}
    if unknown := named - {None, *settings.RATE_LIMITS}:
        raise ImproperlyConfigured(f"{view.__name__}: RATE_LIMITS has no limit {', '.join(sorted(unknown))}")
    return found
