"""The router of the API: DRF's, without trailing slashes, with path converters for the parameters of paths.

A prefix may have parameters of its own: ``router.register("domains/<id:domain_id>/records", RecordViewSet)``.
"""

import re
from typing import Any

from rest_framework.routers import DynamicRoute, Route, SimpleRouter
from rest_framework.viewsets import ViewSetMixin

from config import word

PARAMETER = re.compile(r"(<[^>]*>)")
"""A parameter of a path. Views know its name, so it stays in the neutral form."""


class SingletonRouter(SimpleRouter):
    """Routes a single object: the prefix is the path of `retrieve`, `update`, `create` and `destroy`.

    The path of an ``@action(detail=True)`` is the prefix and its own path.
    """

    routes = [
        Route(
            url="{prefix}",
            mapping={"get": "retrieve", "put": "update", "post": "create", "delete": "destroy"},
            name="{basename}-detail",
            detail=True,
            initkwargs={"suffix": "Instance"},
        ),
        DynamicRoute(url="{prefix}/{url_path}", name="{basename}-{url_name}", detail=True, initkwargs={}),
    ]


class Router(SimpleRouter):
    """Routes collections as DRF does: ``domains``, ``domains/<id:id>``, and a path for each ``@action``."""

    def __init__(self) -> None:
        super().__init__(trailing_slash=False, use_regex_path=False)
        self.singletons: set[type[ViewSetMixin]] = set()

    def register(self, prefix: str, viewset: type[ViewSetMixin], basename: str | None = None) -> None:
        """Register a view. On the wire, the prefix has the word of the installation (`config.word`)."""
        parts = PARAMETER.split(prefix)
        parts[::2] = map(word.on_wire, parts[::2])
        super().register("".join(parts), viewset, basename)

    def register_single(self, prefix: str, viewset: type[ViewSetMixin], basename: str) -> None:
        """Register a view of a single object, such as ``profile``: its path ends with the prefix."""
        self.register(prefix, viewset, basename)
        self.singletons.add(viewset)

    def get_routes(self, viewset: type[ViewSetMixin]) -> list[Any]:
        if viewset in self.singletons:
            return SingletonRouter(trailing_slash=False, use_regex_path=False).get_routes(viewset)
        return super().get_routes(viewset)
