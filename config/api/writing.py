"""Writing: the body of a request, the object that it is about, and the answer to a write."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

from django.db.models import Model, QuerySet

from config.api import access
from config.api.admission import A
from config.api.reading import M, Reading
from config.api.responses import JSONResponse
from config.api.serializers import Body, Resource
from config.db import statements
from config.errors import Denied, Missing


class Writing(Reading[A, M]):
    """The part of a `ResourceViewSet` that its own actions are written with."""

    requests: ClassVar[Mapping[str, type[Resource]]] = {}
    """The resource that validates an action's body, where it is not `resource`."""
    operations: ClassVar[Mapping[str, str]] = {}
    """For the document: the last word of an action's operation id, where its method alone says too little."""
    refusals: ClassVar[Mapping[str, tuple[int, ...]]] = {}
    """For the document: statuses that an action is refused by beyond those that follow from its declarations."""
    related: ClassVar[tuple[str, ...]] = ()
    """The relations that `get_entity` loads along with the object."""

    def validated(self, partial: bool = False) -> dict[str, Any]:
        """The body of the request, validated by the action's resource; `partial` for PUT.

        For services that check nothing in it themselves: the others take a `body`, for one answer to name all.
        """
        return self._request_resource.validated(self.request.data, partial)

    def body(self, partial: bool = False) -> Body:
        """What is good in the body of the request, and the problems of the rest for the service to raise."""
        return self._request_resource.read_body(self.request.data, partial)

    @property
    def _request_resource(self) -> type[Resource]:
        return self.requests.get(self.action, self.resource)

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

    def answer(self, instance: Model) -> JSONResponse:
        """The resource of an object that was just written, without asking the database again."""
        return JSONResponse(self.resource.shape().of_instance(instance))
