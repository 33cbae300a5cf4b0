"""Tags, and the mixed list of what carries one."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import BigIntegerField, Exists, OuterRef, QuerySet
from rest_framework.request import Request
from rest_framework.serializers import CharField, ChoiceField, DictField, IntegerField, ListField

from accounts.actors import Actor
from accounts.entities import kind_of
from accounts.models import Grant
from config.api import pagination
from config.api.access import ANYONE, UNRESTRICTED
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet
from config.db.statements import Statement, SymbolicPath, bindings, page_of
from config.middleware import tidied
from tags import resources
from tags.models import Tag, Tagging
from tags.services import MAX_LABEL_LENGTH, MIN_LABEL_LENGTH, labels

READ = "account:read_only"
WRITE = "account:read_write"
KINDS = ("compute", "domain", "volume", "nodebalancer")
LARGEST = BigIntegerField.MAX_BIGINT


class TagResource(Resource):
    label = CharField(min_length=MIN_LABEL_LENGTH, max_length=MAX_LABEL_LENGTH)

    class Meta:
        filterable = ("label",)


def ids(kind: str) -> ListField:
    child = IntegerField(min_value=1, max_value=LARGEST)
    return ListField(child=child, required=False, help_text=f"The {kind}s that are to carry it.")


class NewTag(TagResource):
    computes = ids("compute")
    domains = ids("domain")
    volumes = ids("volume")
    nodebalancers = ids("nodebalancer")


class TaggedResource(Resource):
    """Something that carries the tag."""

    type = ChoiceField(KINDS)
    data = DictField(help_text="The object, as its own endpoint shows it.")

    class Meta:
        read_only = True


class TagViewSet(ResourceViewSet[Actor, Tag]):
    """Tags of the account. Changing them is for unrestricted users."""

    resource = TagResource
    requests = {"create": NewTag}
    scopes = {"list": READ, "create": WRITE}
    grants = {"list": ANYONE, "create": UNRESTRICTED}

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Tag]:
        return Tag.objects.filter(account_id=actor.account_id)

    def create(self, request: Request) -> JSONResponse:
        """Make a tag, and put it on objects."""
        given = self.validated()
        label = given.pop("label")
        wanted = {field.removesuffix("s"): keys for field, keys in given.items()}
        return self.answer(labels.create(self.actor, label, wanted))


class TaggedViewSet(ResourceViewSet[Actor, Tagging]):
    """One tag: what carries it, of all kinds in one list, as far as the caller may see it."""

    resource = TaggedResource
    scopes = {"list": READ, "destroy": WRITE}
    grants = {"list": ANYONE, "destroy": UNRESTRICTED}

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Tagging]:
        # firewalls carry tags too, and are not among the kinds that are listed
        tagged = Tagging.objects.filter(
            tag__account_id=actor.account_id, tag__label=path["id"], entity_type__in=resources.shown()
        )
        if not actor.restricted:
            return tagged
        granted = Grant.objects.filter(
            user_id=actor.person, entity_type=OuterRef("entity_type"), entity_id=OuterRef("entity_id")
        )
        return tagged.filter(Exists(granted))

    @staticmethod
    def parent(actor: Actor, path: PathParameters) -> QuerySet[Tag]:
        return Tag.objects.filter(account_id=actor.account_id, label=path["id"])

    def list(self, request: Request, **path: Any) -> JSONResponse:
        """The objects that carry a tag. One query for the page, and one for each kind there is."""
        page = pagination.read_page(request.query_params)
        self.read_filter(request.query_params)  # nothing of them can be filtered on: any filter is refused
        path = {"id": self.named(path["id"])}
        values = {**bindings(self.actor, path), "limit": page.size, "offset": page.offset}
        rows = self.statement("list").run(values)
        if not rows:
            self.check_parent(path)
        found = {kind: self.shown(kind, [row[1] for row in rows if row[0] == kind]) for kind in resources.shown()}
        shown = [{"type": kind, "data": found[kind][pk]} for kind, pk, _ in rows if pk in found[kind]]
        return JSONResponse(page.envelope(shown, rows[0][-1] if rows else 0))

    def destroy(self, request: Request, id: str) -> JSONResponse:
        """Delete a tag: nothing carries it any more."""
        self.kwargs["id"] = self.named(id)
        labels.delete(self.actor, self.get_parent())
        return JSONResponse()

    def named(self, given: str) -> str:
        """The label that a path means: as it is there if there is such a tag, else without slashes too many."""
        label = tidied(f"/{given}").removeprefix("/")
        if label != given and Tag.objects.filter(account_id=self.actor.account_id, label=given).exists():
            return given
        return label

    def compiled(self, kind: str, actor: Any) -> Statement:
        rows = self.objects(actor, SymbolicPath())
        return page_of(rows, ("entity_type", "entity_id"), self.ordering)

    def shown(self, kind: str, keys: Iterable[int]) -> Mapping[int, dict]:
        """Objects of one kind by their id, each as its own resource shows it."""
        shape = resources.resource_of(kind).shape()
        # every registered model's manager has it
        mine = kind_of(kind).model._default_manager.visible_to(self.actor)  # type: ignore[attr-defined]
        rows = shape.select(mine.filter(pk__in=list(keys))).order_by().values_list("pk", *shape.columns)
        return {pk: shape.one(row) for pk, *row in rows}
