"""Admission of a request: its caller, the rate limits, and the permissions of token and user.

In this order: the caller (401), the rate limits (429), the method (405), the token's scope (401), the user's grant
(403). Each is a hook of DRF's: `perform_authentication`, `check_throttles`, `check_permissions`. Headers that all
answers have in common are set here too, refusals included.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial, wraps
from typing import Any, ClassVar, Generic, TypeVar

from django.core.exceptions import ImproperlyConfigured
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from rest_framework.exceptions import AuthenticationFailed, MethodNotAllowed, NotAuthenticated
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.viewsets import GenericViewSet

from config import word
from config.api import access, reasons, unsupported
from config.api.operations import Operation, operations_of
from config.api.permissions import HasGrant, HasScope
from config.api.throttling import RateLimits
from config.errors import TooMany
from config.limits import rates
from config.processes.logging import current_subject
from config.web.client_address import network_of
from config.web.headers import Headers, add_headers, prepared

NO_STORE = "private, max-age=0, no-store"
QUARTER_HOUR = "private, max-age=900"

HEADERS = {
    "Vary": "Authorization, X-Filter",
    "Content_Security_Policy": "default-src 'none'",
    "X_Content_Type_Options": "nosniff",
    "X_Frame_Options": "DENY",
}
DESCRIBING = frozenset({"basename", "suffix", "detail", "name", "description", "schema"})
"""The keywords of `as_view` that describe a route, by the router or by drf-spectacular."""
NEEDED: tuple[tuple[str, type], ...] = (
    ("permission_classes", HasScope),
    ("permission_classes", HasGrant),
    ("throttle_classes", RateLimits),
)
"""The classes that every view has: without one of them, it would be open or unlimited by oversight."""
NO_ACTION = Operation(access.Scope(), access.ANYONE)
"""A placeholder for the declaration of an action, for a request method without one."""

A = TypeVar("A", bound=access.Caller)
M = TypeVar("M", bound=Model)
R = TypeVar("R", bound=HttpResponse)


def expensive(action: Callable[..., R]) -> Callable[..., R]:
    """Decorate an action whose cost grows with the account, or that may take a good part of a second.

    The action's seconds of work are counted and limited (`config.limits.metering`).
    """

    @wraps(action)
    def measured(self: "Admission[Any, Any]", request: Request, *args: Any, **kwargs: Any) -> R:
        with self.measured():
            return action(self, request, *args, **kwargs)

    measured.expensive = True  # type: ignore[attr-defined] # a read is answered in a lane (`config.server.lanes`)
    return measured


class Admission(GenericViewSet[M], Generic[A, M]):
    """The part of a viewset that runs before the action, and after it for the headers."""

    permission_classes: Sequence[type[BasePermission]] = (HasScope, HasGrant)
    throttle_classes: Sequence[type[BaseThrottle]] = (RateLimits,)
    throttle_scope: ClassVar[str | None] = None
    """The name of a limit in RATE_LIMITS for all actions of the view that declare none of their own."""
    required_scopes: ClassVar[access.Scope | str | tuple[str, ...] | None] = None
    """The scope of `list` and `retrieve`."""
    required_grant: ClassVar[str | None] = None
    """The grant of `list` and `retrieve`."""
    cache_control: ClassVar[str] = NO_STORE

    # DRF would compute these for every request, and add them to the answer. Ours are set in `finalize_response`.
    default_response_headers: ClassVar[dict[str, str]] = {}
    format_kwarg = None

    operations: ClassVar[dict[str, Operation]] = {}
    """The declaration of each action."""

    operation: Operation = NO_ACTION
    """The declaration of the action that the request is for."""
    throttles: Sequence[BaseThrottle] = ()
    """The objects of `throttle_classes` for this request. They begin to count before the caller is known."""
    caller: A | None = None
    """The user of the request. None without a token, or with an invalid one."""
    failure: AuthenticationFailed | None = None
    """The reason why the token is invalid. The request counts against the rate limits before it is refused."""
    verdict: rates.Verdict | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        unsupported.check_view(cls)
        for attribute, needed in NEEDED:
            if not any(issubclass(each, needed) for each in getattr(cls, attribute)):
                raise ImproperlyConfigured(f"{cls.__name__}.{attribute} lacks {needed.__name__}")
        cls.operations = operations_of(cls)

    @classmethod
    def as_view(cls, actions: dict[str, Any] | None = None, **initkwargs: Any) -> Any:
        """Refuse to route an action that declares no scope or grant: no endpoint is left open by oversight.

        Keywords become attributes of a subclass, so that code that inspects the class finds them.
        """
        if own := {name: value for name, value in initkwargs.items() if name not in DESCRIBING}:
            routed: Any = type(cls.__name__, (cls,), {**own, "__module__": cls.__module__, "__doc__": cls.__doc__})
            if unknown := [name for name in own if not hasattr(cls, name)]:
                raise TypeError(f"{cls.__name__}.as_view() received an invalid keyword: {', '.join(unknown)}")
            return routed.as_view(actions, **{name: initkwargs[name] for name in initkwargs.keys() - own.keys()})
        for action in (actions or {}).values():
            if not hasattr(cls, action):
                raise ImproperlyConfigured(f"{cls.__name__} has no action {action}")
            if action not in cls.operations:
                raise ImproperlyConfigured(f"{cls.__name__}.{action} declares no scope and grant: see `operation`")
        return super().as_view(actions, **initkwargs)

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        self.action = self.action_map.get((request.method or "").lower(), "")
        self.operation = self.operations.get(self.action, NO_ACTION)
        return Request(
            request,
            self.get_parsers(),
            self.get_authenticators(),
            self.get_content_negotiator(),
            self.get_parser_context(request),
        )

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Admit the request, or raise the reason for a refusal.

        Counts the request before it refuses a bad token or an unknown method.
        """
        if request.method == "OPTIONS":
            return
        self.perform_authentication(request)
        self.check_throttles(request)
        if not self.action:
            raise MethodNotAllowed(request.method or "")
        if self.failure is not None:
            raise self.failure
        self.check_permissions(request)

    def perform_authentication(self, request: Request) -> None:
        """Find the caller while Redis counts. The error of an invalid token is stored in `failure`, not raised."""
        self.throttles = [throttle() for throttle in self.throttle_classes]
        counting = [throttle for throttle in self.throttles if isinstance(throttle, RateLimits)]
        for throttle in counting:
            throttle.begin(request, self)
        try:
            self.caller = request.user  # type: ignore[assignment] # an actor: see `BearerAuthentication`
        except AuthenticationFailed as failure:
            self.failure = failure
        finally:
            for throttle in counting:
                throttle.end(self)
        if self.caller is not None:
            request._request.caller = self.caller  # type: ignore[attr-defined] # for the access log
            current_subject.set({"user_id": self.caller.user_id, "account_id": self.caller.account_id})

    def get_throttles(self) -> list[BaseThrottle]:
        return [*self.throttles]

    @property
    def limit(self) -> str | None:
        """The name of the limit that the request counts against, in addition to the limits of all requests."""
        return self.operation.throttle_scope or self.throttle_scope

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Count an expensive call's seconds of work for the caller's account, or for the address of an anonymous
        caller.

        Raises `TooMany` if earlier calls took more than the setting RATE_LIMITS allows as ``expensive``.
        """
        caller = self.caller
        subject = f"address:{network_of(self.request)}" if caller is None else f"account:{caller.account_id}"
        with rates.limits().meter.limited(subject, partial(TooMany, reasons.TOO_MANY_REQUESTS)):
            yield

    @property
    def actor(self) -> A:
        """The caller, in actions that need one: these actions answer 401 without a token, as their scope says."""
        if self.caller is None:
            raise NotAuthenticated
        return self.caller

    def options(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Response:
        response = Response({})
        response["Allow"] = ", ".join(self.allowed_methods)
        return response

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, TooMany):
            # The headers describe the limit that refuses, as they do where requests are counted.
            self.verdict = rates.Verdict(False, exc.count, 0, exc.seconds)
        return super().handle_exception(exc)

    # An action may return any Django response. DRF's stubs require DRF's own.
    def finalize_response(  # type: ignore[override]
        self, request: Request, response: HttpResponse, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        response = super().finalize_response(request, response, *args, **kwargs)  # type: ignore[arg-type]
        if isinstance(response, Response):
            response = self.rendered(response)
            response.headers["Content-Length"] = str(len(response.content))
        status = response.status_code
        add_headers(response, self.headers_of(self.action, status < 300))
        scopes = "unknown" if self.caller is None else " ".join(self.caller.scopes)
        response.headers["X-OAuth-Scopes"] = word.on_wire(scopes) if word.IS_SET else scopes
        if status == 405:
            response.headers["Allow"] = ", ".join(self.allowed_methods)
        if self.verdict is not None:
            add_headers(response, self.verdict.headers())
        return response

    def rendered(self, response: Response) -> Response:
        """Write the body of an answer. Data that cannot be written is handled like an error of the action."""
        try:
            return response.render()
        except Exception as error:  # noqa: BLE001 - it is logged and answered 500
            return self.handle_exception(error)

    @classmethod
    @cache
    def headers_of(cls, action: str, fine: bool) -> Headers:
        """Return the headers that all answers of an action have in common. Caches never store failures."""
        declared = cls.operations.get(action)
        return prepared(
            **HEADERS,
            Cache_Control=cls.cache_control if fine else NO_STORE,
            X_Accepted_OAuth_Scopes=access.ALL if declared is None else word.on_wire(declared.scope.accepted),
        )
