"""Ids of the reader's own objects, which replace the ids of an example in the form of an operation."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from django.urls import Resolver404, resolve

from config import word
from config.api.access import ALL, granted
from config.api.filters import KEYS
from config.api.views import ListViewSet
from config.reference.reading import JSON, Body, Operation, Parameter, indented, reference

PARAMETER = re.compile(r"/\{\w+\}")
INSTANCES = word.on_wire("/v4/compute/instances")
COMPUTE_ID = word.on_wire("compute_id")

Found = Mapping[str, Any]
"""An object as its list shows it."""
Source = tuple[str, Callable[[Found], Any]]
"""The path of a list, and the function that takes the value from its first object."""


def _private_service(instance: Found) -> str | None:
    """Return the address of a web server at the instance's private address, or None without such an address."""
    private = (address for address in instance["ipv4"] if address.startswith("192.168."))
    return next((f"{address}:80" for address in private), None)


INSTANCE: Source = (INSTANCES, lambda instance: instance["id"])
DISK: Source = (f"{INSTANCES}/{{{COMPUTE_ID}}}/disks", lambda disk: disk["id"])
IN_BODIES: Mapping[str, Source] = {
    COMPUTE_ID: INSTANCE,
    "id": INSTANCE,
    "disk_id": DISK,
    "devices.sda.disk_id": DISK,
    "config_id": (f"{INSTANCES}/{{{COMPUTE_ID}}}/configs", lambda config: config["id"]),
    f"assignments.{COMPUTE_ID}": INSTANCE,
    "assignments.address": (INSTANCES, lambda instance: next(iter(instance["ipv4"]), None)),
}
"""By path within a body: the fields that name an object of the account."""
WITH_ASSIGNMENTS: Mapping[str, Source] = {"region": (INSTANCES, lambda instance: instance["region"])}
"""The same for bodies with assignments, which take the region of their objects."""
IN_BODIES_OF: Mapping[str, Mapping[str, Source]] = {
    "nodebalancers_configs_nodes_create": {"address": (INSTANCES, _private_service)},
}
"""The same for the body of one operation, by its id."""
REPLACES: Mapping[str, Callable[[Found], bool]] = {
    word.on_wire("compute_instances_backups_create"): lambda instance: (
        instance["backups"]["last_successful"] is not None
    )
}
"""By operation: tells whether a create replaces what the object of its path has. Then the path is not filled in."""
NEEDS_YOURS = {
    "domains_import": "No name server answers at the example's address: name a server that transfers your zone.",
    "profile_phone_number_verify": "The example's code is refused: give the code that was sent to your phone.",
    "profile_tfa_enable_confirm": "The example's code is refused: give the code that your authenticator app shows.",
}
"""By operation: a value that only the reader knows, so that no example can contain it."""


@dataclass(frozen=True, slots=True)
class Reader:
    """The signed-in user of a page, as the caller of lists.

    The account-level grants of a restricted user are not read: lists that need one give no ids.
    """

    account_id: int
    user_id: int
    username: str
    restricted: bool
    scopes: tuple[str, ...] = (ALL,)
    account_access: str | None = None

    @classmethod
    def of(cls, user: Any) -> "Reader | None":
        """Return the reader for the user of a request, or None if the user has no account."""
        if not user.is_authenticated or user.account_id is None:
            return None
        return cls(user.account_id, user.pk, user.username, user.restricted)

    @property
    def person(self) -> int:
        return self.user_id

    def may(self, grant: str) -> bool:
        return not self.restricted


@dataclass(frozen=True, slots=True)
class Form:
    """The form for trying an operation out.

    `create` is the operation that makes the object that the account lacks and the operation needs. `note` is a
    sentence about a value that only the reader knows.
    """

    operation: Operation
    create: Operation | None = None
    note: str = ""


def form_of(operation: Operation, reader: Reader | None) -> Form:
    """Return the form with the reader's own ids. If the reader has no such object, the id of the example stays.

    The path parameters of a GET and of a create are filled in. Other operations only get a placeholder, so that
    nobody deletes or rebuilds an object without choosing it.
    """
    note = NEEDS_YOURS.get(operation.id, "")
    if reader is None:
        return Form(operation, note=note)
    own = _OwnObjects(reader)
    parameters = tuple(_with_id(operation, parameter, own) for parameter in operation.parameters)
    bodies = tuple(_with_own(body, operation, own) for body in operation.bodies)
    create = next((_creates()[path] for path in own.empty if path in _creates()), None)
    return Form(operation.with_parts(parameters=parameters, bodies=bodies), create, note)


@dataclass
class _OwnObjects:
    """The first objects of the lists that were requested. `empty` are the paths of the lists without objects."""

    reader: Reader
    empty: list[str] = field(default_factory=list)
    known: dict[str, Found | None] = field(default_factory=dict)

    def first(self, path: str) -> Found | None:
        """Return the first object of a list of the document. Path parameters name first objects too."""
        if path not in self.known:
            self.known[path] = self._read(path)
        return self.known[path]

    def _read(self, path: str) -> Found | None:
        address = path
        for parameter in PARAMETER.finditer(path):
            parent = self.first(path[: parameter.start()])
            if parent is None:
                return None
            address = address.replace(parameter[0], f"/{_key(parent)}", 1)
        found, values = _list_at(address)
        if found is None or not granted(self.reader, found.operations["list"].grant):
            return None
        view = found.outside_of_requests("list", self.reader, values)
        shape = view.shape
        rows = shape.select(view.get_queryset()).order_by(*view.ordering)
        row = rows.values_list(*shape.columns).first()
        if row is None:
            self.empty.append(path)
            return None
        return shape.one(row)


def _list_at(address: str) -> tuple[type[ListViewSet] | None, Mapping[str, Any]]:
    """Return the view that answers the list at an address, and the values of its path, or None if there is no
    list.
    """
    try:
        match = resolve(address)
    except Resolver404:
        return None, {}
    view: Any = getattr(match.func, "cls", None)
    is_list = getattr(match.func, "actions", {}).get("get") == "list"
    return (view, match.kwargs) if is_list and issubclass(view, ListViewSet) else (None, {})


@cache
def _creates() -> Mapping[str, Operation]:
    """Return the operations that make an object, by the path of its list."""
    operations = reference().operations.values()
    return {each.path: each for each in operations if _is_create(each)}


def _is_create(operation: Operation) -> bool:
    """Tell whether an operation creates an object in a list."""
    return operation.method == "POST" and operation.id.endswith("_create")


def _is_harmless(operation: Operation, found: Found) -> bool:
    """Tell whether the first press may use an object that the reader has not chosen."""
    if not _is_create(operation):
        return operation.method == "GET"
    return operation.id not in REPLACES or not REPLACES[operation.id](found)


def _with_id(operation: Operation, parameter: Parameter, own: _OwnObjects) -> Parameter:
    placed = f"/{{{parameter.field.name}}}"
    if parameter.place != "path" or placed not in operation.path:
        return parameter
    found = own.first(operation.path[: operation.path.index(placed)])
    if found is None:
        return parameter
    key = str(_key(found))
    return replace(parameter, example=key, value=key if _is_harmless(operation, found) else "")


def _with_own(body: Body, operation: Operation, own: _OwnObjects) -> Body:
    if body.media_type != JSON or not body.start:
        return body
    return replace(body, start=_with_ids(operation, body.start, own))


def _with_ids(operation: Operation, start: str, own: _OwnObjects) -> str:
    body = json.loads(start)
    assigning = WITH_ASSIGNMENTS if "assignments" in body else {}
    sources = {**IN_BODIES, **assigning, **IN_BODIES_OF.get(operation.id, {})}

    def filled(value: Any, path: str) -> Any:
        if isinstance(value, dict):
            return {name: filled(child, f"{path}.{name}" if path else name) for name, child in value.items()}
        if isinstance(value, list):
            return [filled(child, path) for child in value]
        if path not in sources:
            return value
        of, take = sources[path]
        found = own.first(of)
        taken = None if found is None else take(found)
        return value if taken is None else taken

    return indented(filled(body, ""))


def _key(found: Found) -> Any:
    return next(found[key] for key in KEYS if key in found)
