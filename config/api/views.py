"""`ResourceViewSet`: what every endpoint does alike, in the order in which it is done.

Who calls (401), how often (429), does the method exist (405), the token's scope (403), the user's grant (403);
then the action, whose objects come only from `objects(actor, path)`, so that what is not the caller's is 404.
"""

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Any, ClassVar, Generic, TypeVar

from django.core.exceptions import ImproperlyConfigured
from django.db.models import Model, QuerySet
from django.http import QueryDict
from rest_framework.exceptions import (
    AuthenticationFailed,
    MethodNotAllowed,
    NotAuthenticated,
    PermissionDenied,
    Throttled,
)
from rest_framework.request import Request
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

from config import limits
from config.api import access, exceptions, pagination
from config.api.filters import Filter, read_header, read_query
from config.api.parsers import JSONOnly, JSONParser
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.client_address import network_of
from config.db import statements
from config.errors import Denied, Missing
from config.headers import Headers, add_headers, prepared

NO_STORE = "private, max-age=0, no-store"
QUARTER_HOUR = "private, max-age=900"

HEADERS = {
    "Vary": "Authorization, X-Filter",
    "Content_Security_Policy": "default-src 'none'",
    "X_Content_Type_Options": "nosniff",
    "X_Frame_Options": "DENY",
}
_parsers = (JSONParser(),)
_negotiator = JSONOnly()
_no_query = QueryDict("", encoding="utf-8")

A = TypeVar("A", bound=access.Caller)
M = TypeVar("M", bound=Model)


class _Users:
    """Whose a token was when it was last seen by this process. Keeps no token, only Python's salted hash of it."""

    MOST = 50_000

    def __init__(self) -> None:
        self.known: dict[int, int] = {}

    def get(self, header: str | None) -> int | None:
        return None if header is None else self.known.get(hash(header))

    def learn(self, header: str | None, user: int | None) -> None:
        if header is None:
            return
        if user is None:
            self.known.pop(hash(header), None)
        else:
            if len(self.known) >= self.MOST:
                self.known.clear()
            self.known[hash(header)] = user


_users = _Users()


class ResourceViewSet(ViewSetMixin, APIView, Generic[A, M]):
    """Base of all views of the API. Gives `list` and `retrieve`; other actions are methods of the subclass.

    Subclasses declare `resource`, `objects`, and for each action a scope and a grant (`config.api.access`).
    Actions return a `JSONResponse`. Views with actions of their own name their actor and their model for the type
    checker: ``ResourceViewSet[Actor, Instance]``.
    """

    scopes: ClassVar[Mapping[str, access.Scope | str | tuple[str, ...]]] = {}
    grants: ClassVar[Mapping[str, str]] = {}
    throttle: ClassVar[Mapping[str, str]] = {}
    """The extra rate limit of an action, by its name in the setting RATE_LIMITS."""
    resource: ClassVar[type[Resource]]
    requests: ClassVar[Mapping[str, type[Resource]]] = {}
    """The resource that validates an action's body, where it is not `resource`."""
    responses: ClassVar[Mapping[str, Any]] = {}
    """The resource an action answers with; of actions other than list, retrieve, create, update: ``{}``."""
    ordering: ClassVar[tuple[str, ...]] = ("id",)
    lookup: ClassVar[str] = "pk"
    """The column that the path parameter ``id`` is matched with."""
    related: ClassVar[tuple[str, ...]] = ()
    """What `get_entity` loads along with the object."""
    cache_control: ClassVar[str] = NO_STORE

    # DRF would work these out for every request, and add them to the answer; ours are in `finalize_response`
    default_response_headers: ClassVar[dict[str, str]] = {}

    _scopes: ClassVar[dict[str, access.Scope]] = {}
    _statements: ClassVar[dict[tuple[str, bool | None], statements.Statement]]

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if set(cls.scopes) != set(cls.grants):
            lacking = sorted(set(cls.scopes) ^ set(cls.grants))
            raise ImproperlyConfigured(f"{cls.__name__}: scope or grant not declared for {', '.join(lacking)}")
        for grant in cls.grants.values():
            access.check_grant_name(grant)
        cls._scopes = {action: access.Scope.of(scope) for action, scope in cls.scopes.items()}
        cls._statements = {}

    @classmethod
    def as_view(cls, actions=None, **initkwargs):
        """Refuses to route an action that declares no scope or grant: an open endpoint cannot be an oversight."""
        for action in (actions or {}).values():
            if action not in cls._scopes:
                raise ImproperlyConfigured(f"{cls.__name__}.{action} declares no scope and grant")
            if not hasattr(cls, action):
                raise ImproperlyConfigured(f"{cls.__name__} has no action {action}")
        return super().as_view(actions, **initkwargs)

    @staticmethod
    def objects(actor: Any, path: Mapping[str, Any]) -> QuerySet[M]:
        """The rows that exist for `actor` (None: no token) under the path's parameters.

        It is also called with a `SymbolicActor` and a `SymbolicPath`, to compile the SQL once: it may branch on
        ``actor.restricted`` and on ``actor is None``, and on nothing else of them.
        """
        raise NotImplementedError

    caller: A | None
    """None where there is no token, or none that is good."""
    verdict: limits.Verdict | None

    parent: ClassVar[Any] = None
    """Nested resources: a static method like `objects`, for the entity whose absence is a 404 of the list."""

    # --- one request ---------------------------------------------------------------------------------------

    def initialize_request(self, request, *args, **kwargs) -> Request:
        self.action = self.action_map.get(request.method.lower(), "")
        self.caller = self.verdict = None
        context = {"view": self, "args": args, "kwargs": kwargs}
        return Request(request, _parsers, self.get_authenticators(), _negotiator, context)

    def initial(self, request, *args, **kwargs) -> None:
        if request.method == "OPTIONS":
            return
        failure = self.authenticate_and_count(request)
        if self.verdict is not None and not self.verdict.allowed:
            raise Throttled
        if not self.action:
            raise MethodNotAllowed(request.method)
        if failure is not None:
            raise failure
        self.authorize()

    def authenticate(self, request) -> AuthenticationFailed | None:
        """Find the caller. A token that is no good is returned, not raised: it counts for the rate limit."""
        try:
            self.identify(request)
        except AuthenticationFailed as failure:
            request._authenticator, self.caller = None, None
            return failure
        return None

    def identify(self, request) -> None:
        for authenticator in request.authenticators:
            found = authenticator.authenticate(request)
            if found is not None:
                request._authenticator = authenticator
                caller, request.auth = found
                self.caller = request.user = caller
                request._request.actor_name = caller.username  # for the access log
                return

    def authenticate_and_count(self, request) -> AuthenticationFailed | None:
        """Find the caller and count the request against its limits: by user, or by address if nobody is known.

        A token's user never changes. So once it is known, Redis counts while PostgreSQL looks at the token, and
        the request waits once for both. Where the token turns out to be no good, the address is counted as well.
        """
        guess = _users.get(request.META.get("HTTP_AUTHORIZATION"))
        pending = None if guess is None else self.begin_count(request, guess)
        try:
            failure = self.authenticate(request)
        finally:
            if pending is not None:
                self.verdict = pending()
        user = None if self.caller is None else self.caller.user_id
        if pending is None or user != guess:
            self.verdict = self.begin_count(request, user)()
            _users.learn(request.META.get("HTTP_AUTHORIZATION"), user)
        return failure

    def begin_count(self, request, user: int | None) -> Callable[[], limits.Verdict]:
        own = limits.limits()
        subject = f"user:{user}" if user is not None else f"address:{network_of(request)}"
        endpoint = f"{type(self).__name__}.{self.action or request.method}"
        return own.limiter.begin(subject, endpoint, own.of(self.throttle.get(self.action)))

    def authorize(self) -> None:
        """Check the token's scope, then the user's grant as far as it does not depend on the entity."""
        scope = self._scopes[self.action]
        if self.caller is None:
            if scope.token:
                raise NotAuthenticated
            return
        if not scope.allows(self.caller):
            raise Denied(exceptions.reasons.SCOPE_LACKING)
        if not access.granted(self.caller, self.grants[self.action]):
            raise PermissionDenied

    def options(self, request, *args, **kwargs) -> JSONResponse:
        response = JSONResponse()
        response["Allow"] = ", ".join(self.allowed_methods)
        return response

    def handle_exception(self, exc: Exception) -> JSONResponse:
        return exceptions.answer(exc, self.request)

    def finalize_response(self, request, response, *args, **kwargs):
        status = response.status_code
        add_headers(response, self.headers_of(self.action, status < 300))
        response.headers["X-OAuth-Scopes"] = "unknown" if self.caller is None else " ".join(self.caller.scopes)
        if status == 405:
            response.headers["Allow"] = ", ".join(self.allowed_methods)
        if self.verdict is not None:
            add_headers(response, self.verdict.headers())
        return response

    @classmethod
    @cache
    def headers_of(cls, action: str, fine: bool) -> Headers:
        """What all answers of an action have in common; failures are never kept in caches."""
        scope = cls._scopes.get(action)
        return prepared(
            **HEADERS,
            Cache_Control=cls.cache_control if fine else NO_STORE,
            X_Accepted_OAuth_Scopes=access.ALL if scope is None else scope.accepted,
        )

    # --- reading -------------------------------------------------------------------------------------------

    @property
    def viewer(self) -> A | None:
        """The caller that `objects` is asked with."""
        return self.caller

    def list(self, request, **path) -> JSONResponse:
        """One page of the collection."""
        query = request.query_params if request.META.get("QUERY_STRING") else _no_query
        page = pagination.read_page(query) if query else pagination.FIRST
        wanted = self.read_filter(query)
        statement = self.statement("list") if wanted is None else self.filtered(wanted, path)
        values = statements.bindings(self.viewer, path)
        rows = statement.run({**values, "limit": page.size, "offset": page.offset})
        if not rows:
            self.check_parent(path)
        total = rows[0][-1] if rows else 0
        return JSONResponse(page.envelope(self.resource.shape().page(rows), total))

    def retrieve(self, request, **path) -> JSONResponse:
        """One object."""
        rows = self.statement("retrieve").run(statements.bindings(self.viewer, path))
        if not rows:
            raise Missing
        return JSONResponse(self.resource.shape().one(rows[0]))

    def read_filter(self, query: QueryDict) -> Filter | None:
        """The request's filter, or None if there is none: then the list needs no SQL of its own."""
        fields = self.resource.filterable()
        header = self.request.META.get("HTTP_X_FILTER")
        plain = read_query(query, fields, self.resource.names()) if query else None
        if header is None:
            return Filter(plain) if plain else None
        wanted = read_header(header, fields)
        if plain:
            wanted.condition &= plain
        return wanted

    def statement(self, kind: str) -> statements.Statement:
        """The compiled SQL of `list` or `retrieve` for this kind of caller."""
        viewer = self.viewer
        key = (kind, None if viewer is None else viewer.restricted)
        found = self._statements.get(key)
        if found is None:
            symbolic = None if viewer is None else statements.SymbolicActor(viewer.restricted)
            found = self._statements[key] = self.compiled(kind, symbolic)
        return found

    def compiled(self, kind: str, actor: Any) -> statements.Statement:
        shape = self.resource.shape()
        path = statements.SymbolicPath()
        rows = shape.select(self.objects(actor, path))
        if kind == "list":
            return statements.page_of(rows, shape.columns, self.ordering)
        rows = rows.filter(**{self.lookup: path["id"]}).order_by()
        return statements.Statement.of(rows.values_list(*shape.columns))

    def filtered(self, wanted: Filter, path: Mapping[str, Any]) -> statements.Statement:
        """The SQL of a filtered page. Every filter is different, so it is not kept."""
        shape = self.resource.shape()
        rows = shape.select(self.objects(self.viewer, path)).filter(wanted.condition)
        ordering = (wanted.ordering, *self.ordering) if wanted.ordering else self.ordering
        return statements.page_of(rows, shape.columns, ordering, kept=False)

    # --- writing -------------------------------------------------------------------------------------------

    def validated(self, partial: bool = False) -> dict[str, Any]:
        """The body of the request, validated by the action's resource; `partial` for PUT."""
        resource = self.requests.get(self.action, self.resource)
        body: Any = self.request.data
        return resource.validated(body, partial)

    @property
    def actor(self) -> A:
        """The caller, in actions that need one: without a token they answer 401, as by their scope."""
        if self.caller is None:
            raise NotAuthenticated
        return self.caller

    def get_entity(self) -> M:
        """The object named by the path, 404 if it does not exist for the caller.

        Where the action's grant is read_write, a user who has less on it gets 403.
        """
        path = self.kwargs
        found = self._first(self.objects(self.viewer, path).filter(**{self.lookup: path["id"]}))
        if self.parent is None:
            self.check_level(found)
        else:
            self.get_parent()
        return found

    def get_parent(self) -> Any:
        """The entity that nested objects belong to, with the same checks. It is of the model `parent` asks for."""
        found = self._first(self.parent(self.viewer, self.kwargs))
        self.check_level(found)
        return found

    def _first(self, rows: QuerySet) -> Any:
        found = (rows.select_related(*self.related) if self.related and rows.model is self._model else rows).first()
        if found is None:
            raise Missing
        return found

    @cached_property
    def _model(self) -> type[M]:
        return self.objects(statements.SymbolicActor(False), statements.SymbolicPath()).model

    def check_level(self, entity: Model) -> None:
        """403 where the action writes and the caller may only read the entity."""
        if self.grants[self.action] != access.READ_WRITE or not self.actor.restricted:
            return
        manager: Any = type(entity)._default_manager
        if not manager.writable_by(self.actor).filter(pk=entity.pk).exists():
            raise Denied

    def check_parent(self, path: Mapping[str, Any]) -> None:
        """An empty list of something that does not exist is a 404."""
        if self.parent is not None and not self.parent(self.viewer, path).exists():
            raise Missing

    def answer(self, instance: Model) -> JSONResponse:
        """The resource of an object that was just written, without asking the database again."""
        return JSONResponse(self.resource.shape().of_instance(instance))


class UnknownPath(ResourceViewSet):
    """Whatever no other route matches: 404 in the error body, counted like any request."""

    scopes = {"missing": access.PUBLIC}
    grants = {"missing": access.ANYONE}
    schema = None

    def authenticate(self, request) -> None:
        super().authenticate(request)  # only to know whom to count

    def missing(self, request, **path) -> JSONResponse:
        raise Missing
