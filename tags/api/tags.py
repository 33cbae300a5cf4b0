"""Tags, and the mixed list of the objects that carry a tag."""

from collections.abc import Iterable, Mapping

from django.conf import settings
from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from accounts.entities import kind_of
from config import word
from config.api.access import ANYONE, UNRESTRICTED
from config.api.filters import Criteria, XFilterBackend
from config.api.operations import operation
from config.api.views import ListViewSet, expensive
from config.db.statements import page_of
from config.web.paths import normalized
from tags import resources
from tags.filters import TagFilterSet
from tags.models import Tag, Tagging
from tags.serializers import NewTag, TaggedResource, TagResource
from tags.services import labels

READ = "account:read_only"
WRITE = "account:read_write"
MEMBER = ("entity_type", "entity_id")


class TagViewSet(ListViewSet[Actor, Tag]):
    """Tags of the account. Restricted users see the tags of the objects that they may see, and cannot change
    any.
    """

    serializer_class = TagResource
    filterset_class = TagFilterSet
    queryset = Tag.objects.all()
    required_scopes = READ
    required_grant = ANYONE

    @operation(WRITE, UNRESTRICTED, request=NewTag)
    @expensive
    def create(self, request: Request) -> Response:
        """Make a tag, and put it on objects.

        The caller needs `read_write` on each of them. Otherwise no tag is created.
        """
        given = self.body()
        label = given.pop("label", None)
        wanted = {field.removesuffix("s"): keys for field, keys in given.items()}
        return Response(self.get_serializer(labels.create(self.actor, label, wanted, given.problems)).data)


class TaggedViewSet(ListViewSet[Actor, Tagging]):
    """One tag: the objects of all kinds that carry it and that the caller may see, in one list."""

    serializer_class = TaggedResource
    lookup_value_converter = "slug_id"

    def get_queryset(self) -> QuerySet[Tagging]:
        # Firewalls carry tags too, but are not among the listed kinds.
        tagged = Tagging.objects.visible_to(self.viewer)
        return tagged.filter(tag__label=self.kwargs["id"], entity_type__in=resources.shown())

    def get_parent_queryset(self) -> QuerySet[Tag]:
        return Tag.objects.visible_to(self.viewer).filter(label=self.kwargs["id"])

    @operation(READ, ANYONE)
    @expensive
    def list(self, request: Request, id: str) -> Response:
        """The objects that carry a tag. One query for the page, and one for each kind there is."""
        self.kwargs["id"] = self.named(id)
        page = self.page_asked_for()
        wanted = XFilterBackend().read(request, self) or Criteria()  # at most an order: nothing can be filtered
        order = wanted.order_of(self.ordering)
        statement = page_of(self.get_queryset().filter(wanted.condition), MEMBER, order, kept=False)
        within = settings.FILTER_TIMEOUT if wanted else None
        rows, total = self.read_page(statement, page, self.kwargs, within)
        found = {kind: self.shown(kind, [row[1] for row in rows if row[0] == kind]) for kind in resources.shown()}
        types = {kind: word.on_wire(kind) for kind in found}
        shown = [{"type": types[kind], "data": found[kind][pk]} for kind, pk, _ in rows if pk in found[kind]]
        return Response(page.envelope(shown, total))

    @operation(WRITE, UNRESTRICTED)
    @expensive
    def destroy(self, request: Request, id: str) -> Response:
        """Delete a tag: nothing carries it any more.

        The objects are kept. This cannot be undone.
        """
        self.kwargs["id"] = self.named(id)
        labels.delete(self.actor, self.get_parent())
        return Response({})

    def named(self, given: str) -> str:
        """Return the label that a path means: the given one if there is such a tag, else without extra slashes."""
        label = normalized(f"/{given}").removeprefix("/")
        if label != given and Tag.objects.visible_to(self.actor).filter(label=given).exists():
            return given
        return label

    def shown(self, kind: str, keys: Iterable[int]) -> Mapping[int, dict]:
        """Return objects of one kind by their id, each as its own resource shows it."""
        shape = resources.resource_of(kind).shape()
        # Every registered model's manager has it.
        mine = kind_of(kind).model._default_manager.visible_to(self.actor)  # type: ignore[attr-defined]
        rows = shape.select(mine.filter(pk__in=list(keys))).order_by().values_list("pk", *shape.columns)
        return {pk: shape.one(row) for pk, *row in rows}
