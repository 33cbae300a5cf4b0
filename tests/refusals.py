"""The reasons in answers of the API, found in the code. docs/errors.md has each of them.

A reason is the text of an error that a service raises or adds to the problems of a request. It can also be the
text of a validation of a view or field, or of a constraint. Most texts are written where they are raised.
Others are a constant, the result of a function, or the text of another error. This module looks them up.
`BY_HAND` has those that it cannot find.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from django.conf import settings
from rest_framework import serializers

from compute.services.images import uploads
from compute.services.instances import root_passwords
from compute.services.nodebalancers import nodes
from config.api.exceptions import FIXED
from config.api.serializers import Resource
from config.server import answers
from config.web.error_pages import REASONS
from regions.models import RETIRED
from tests.config.api.routes import request_of, routes

ROOT = Path(settings.BASE_DIR)
APPS = ("accounts", "compute", "config", "managed", "regions", "tags")
NEVER = re.compile(r"/(admin|management|migrations|pages|laptop|bootstrap|drivers|worker|reference|seed)/")
"""Folders that no request to the API reaches."""
ELSEWHERE = re.compile(
    r"/(oauth|jobs/(?!queue)|egress|monitoring|prober|services/catalogue)/"
    r"|^config/(?!api/(?!answers|field_types)|server/|middleware|error_pages)|/(apps|tasks|admin|missing_processes|pools)\.py$"
)
"""Modules whose own errors are no answers of the API."""
FOR_STAFF = {
    "accounts/services/closing.py", "accounts/services/external.py", "accounts/services/outbox.py",
    "accounts/services/passwords.py",
    "accounts/services/security_keys.py", "accounts/services/suspension.py", "accounts/services/attempts.py",
    "compute/services/networking/firewalls/mail_ports.py", "compute/services/hosts/drift_verbs.py",
    "compute/services/hosts/registry.py", "compute/services/hosts/this_machine.py", "compute/services/consoles.py",
    "managed/services/decryptions.py",
}  # fmt: skip
"""Services that only pages and commands call: the admin and the users' own pages."""

PAGE = ROOT / "docs" / "errors.md"
ROW = re.compile(
    r"^\| (?P<status>[\d, ]*) \| (?P<field>.*?) \| `(?P<reason>.*?)` \| (?P<advice>.*?) *\|$", re.MULTILINE
)
"""A row of the page: the status, the field, the reason and the advice."""

STATUSES = {
    "Denied": 403, "Missing": 404, "Invalid": 400, "Busy": 400, "ValidationError": 400, "Problem": 400,
    "ParseError": 400, "refuse": 400, "problem": 0,
}  # fmt: skip
"""The statuses of errors and functions that refuse. With 0, another place defines the status."""


PASSED_ON: list[str] = []
"""The mark of an expression whose texts are found in another place."""

BY_HAND: dict[tuple[str, str], list[str]] = {
    ("accounts/serializers/ssh_keys.py", "invalid"): PASSED_ON,
    ("accounts/serializers/ssh_keys.py", "f'{invalid}: {error}'"): [
        "ssh_key is not valid: SSH key type is not supported",
    ],
    ("accounts/serializers/tokens.py", "f'{self.field_name} must be in the future'"): PASSED_ON,
    ("config/api/exceptions.py", "str(constraint.violation_error_message)"): PASSED_ON,
    ("config/api/exceptions.py", "str(detail)"): PASSED_ON,
    ("config/api/exceptions.py", "str(error.detail)"): PASSED_ON,
    ("config/api/exceptions.py", "found.reason"): PASSED_ON,
    ("config/web/error_pages.py", "reason or REASONS[status]"): [*REASONS.values()],
    ("config/server/answers.py", "reason"): [answers.UNREAD, answers.BUSY],
    ("config/server/application.py", "reason"): PASSED_ON,
    ("accounts/services/users.py", "' '.join(error.messages)"): PASSED_ON,  # of a command
    ("compute/services/common/regions.py", "refusal"): [
        RETIRED, "This region does not offer <capability>.",
    ],
    ("compute/services/domains/records.py", "problem.reason"): PASSED_ON,
    ("compute/services/domains/zone_import.py", "f'{word.quoted(str(error))}.'"): [
        "the name <host> was not found.",
    ],
    ("compute/services/images/uploads.py", "taken"): [uploads.UNDER_WAY],
    ("compute/services/instances/root_passwords.py", "otherwise"): [
        root_passwords.SEVERAL_DISKS, root_passwords.NO_DISK,
    ],
    ("compute/services/nodebalancers/nodes.py", "owners.refusal(spelled.partition(':')[0])"): [
        nodes.NOT_IN_REGION, "Must begin with <network>",
    ],
    ("compute/services/volumes/volumes.py", "refusal"): PASSED_ON,
    ("config/api/exceptions.py", "reason"): PASSED_ON,
    ("config/filters/filters.py", "reason"): PASSED_ON,
    ("config/api/parsers.py", "{_path_to(text, scalar.start()): [TOO_LONG]}"): [
        "A number must have at most <number> digits"
    ],
    ("config/api/parsers.py", "{path: [reasons.not_valid(reasons.spelled(path))]}"): ["<name> is not valid"],
    ("config/api/reasons.py", "reason"): PASSED_ON,
    ("config/api/serializers.py", "wrong"): PASSED_ON,
    (
        "config/api/serializers.py",
        "{api_settings.NON_FIELD_ERRORS_KEY: reason} if self.parent is None else reason",
    ): ["<name> is not valid"],
    ("config/api/serializers.py", "word.Spoken(problem['reason'])"): PASSED_ON,
    ("managed/services/services.py", "problem.reason"): PASSED_ON,
    ("tags/services/__init__.py", "reason"): ["Length must be 3-50 characters"],
    ("tags/services/__init__.py", "each.reason"): PASSED_ON,
    ("tags/services/labels.py", "reason"): PASSED_ON,
}  # fmt: skip
"""By module and expression: the possible texts."""


@dataclass(frozen=True)
class Refusal:
    """A reason with the status and the field of its answer. Varying parts are in angle brackets."""

    reason: str
    status: int
    field: str
    module: str


@dataclass
class Source:
    """A module of ours: its nodes with their parents, and its names."""

    path: str
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)

    @property
    def names(self) -> dict[str, Any]:
        return vars(import_module(self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")))

    def within(self, node: ast.AST, *kinds: type[ast.AST]) -> Iterator[Any]:
        """Yield the nodes of these kinds around a node, the nearest first."""
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, kinds):
                yield node


@cache
def sources() -> dict[str, Source]:
    found = {}
    for app in APPS:
        for file in sorted((ROOT / app).rglob("*.py")):
            path = str(file.relative_to(ROOT))
            if not NEVER.search(path):
                source = found[path] = Source(path)
                waiting: list[ast.AST] = [ast.parse(file.read_text())]
                while waiting:
                    node = waiting.pop()
                    within = [*ast.iter_child_nodes(node)]
                    source.parents.update(dict.fromkeys(within, node))
                    waiting += within
    return found


@cache
def functions() -> dict[str, list[tuple[Source, ast.FunctionDef]]]:
    """Return all functions and methods by their name."""
    found: dict[str, list[tuple[Source, ast.FunctionDef]]] = {}
    for source in sources().values():
        for node in source.parents:
            if isinstance(node, ast.FunctionDef):
                found.setdefault(node.name, []).append((source, node))
    return found


class Unknown(Exception):
    """This module cannot read the expression."""


def called(source: Source, call: ast.Call) -> list[tuple[Source, ast.FunctionDef]]:
    """Return the functions of ours that a call may mean: by the module's names, else by a rare name."""
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    all_of_it = functions().get(name, [])
    try:
        there = eval(ast.unparse(call.func), source.names)
    except Exception:  # noqa: BLE001 - a name of a function's, not of the module's
        there = None
    module = getattr(there, "__module__", None)
    exactly = [
        (of, node) for of, node in all_of_it if module and of.path.startswith(module.replace(".", "/") + ".")
    ]
    return exactly or (all_of_it if len(all_of_it) <= 2 else [])


def texts(source: Source, node: ast.expr, depth: int = 0) -> list[str]:
    """Return the possible texts of an expression."""
    if depth > 6:
        raise Unknown(ast.unparse(node))
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) and node.value else []
    if isinstance(node, ast.JoinedStr):
        return ["".join(_piece(source, each) for each in node.values)]
    if isinstance(node, ast.IfExp):
        return texts(source, node.body, depth + 1) + texts(source, node.orelse, depth + 1)
    if isinstance(node, ast.BoolOp):
        return [text for each in node.values for text in texts(source, each, depth + 1)]
    if isinstance(node, ast.BinOp):
        return [a + b for a in texts(source, node.left, depth + 1) for b in texts(source, node.right, depth + 1)]
    if "settings." not in ast.unparse(node):
        try:
            value = eval(ast.unparse(node), dict(source.names))
        except Exception:  # noqa: BLE001 - it has a name of its function's
            value = None
        if isinstance(value, str):
            return [value]
        if value is not None and isinstance(node, ast.Constant | ast.Name):
            return []
    if isinstance(node, ast.Call):
        return _of_a_call(source, node, depth)
    if isinstance(node, ast.Name):
        return _of_a_name(source, node, depth)
    raise Unknown(ast.unparse(node))


def _piece(source: Source, node: ast.expr) -> str:
    """Return a piece of an f-string: its text, its value if it is fixed, or a word for it."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    assert isinstance(node, ast.FormattedValue)
    inner = ast.unparse(node.value)
    if "settings." not in inner:
        try:
            value = eval(inner, dict(source.names))
        except Exception:  # noqa: BLE001 - it has a name of its function's
            value = None
        if isinstance(value, str | int | float) and not callable(value):
            return str(value)
    if isinstance(node.value, ast.Name):
        try:
            (text,) = _of_a_name(source, node.value, 0)
            return text
        except (Unknown, ValueError):
            pass
    named = node.value
    if isinstance(named, ast.Call) and ast.unparse(named.func) == "word.quoted":
        (named,) = named.args  # a text that a client sent
    while isinstance(named, ast.Call | ast.Subscript):  # of status.replace("_", " ") the status
        within = named.func if isinstance(named, ast.Call) else named
        named = within.value if isinstance(within, ast.Attribute | ast.Subscript) else within
    words = re.findall(r"[a-z_]+", ast.unparse(named).lower()) or ["…"]
    word = words[-1] if isinstance(named, ast.Attribute) else words[0]
    return f"<{word.strip('_')}>"


def _of_a_call(source: Source, node: ast.Call, depth: int) -> list[str]:
    if isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        base = texts(source, node.func.value, depth + 1)
        return [re.sub(r"\{(\w*)[^}]*\}", lambda part: f"<{part[1] or '…'}>", text) for text in base]
    if isinstance(node.func, ast.Name) and node.func.id == "str" and isinstance(node.args[0], ast.Name):
        return _of_an_error(source, node, node.args[0].id, depth)
    found = [
        text
        for of, function in called(source, node)
        for each in ast.walk(function)
        if isinstance(each, ast.Return) and each.value is not None
        for text in texts(of, each.value, depth + 1)
    ]
    if not found:
        raise Unknown(ast.unparse(node))
    return found


def _of_a_name(source: Source, node: ast.Name, depth: int) -> list[str]:
    for function in source.within(node, ast.FunctionDef):
        given = [
            each.value
            for each in ast.walk(function)
            if (isinstance(each, ast.Assign) and any(ast.unparse(t) == node.id for t in each.targets))
            or (isinstance(each, ast.NamedExpr) and each.target.id == node.id)
        ]
        if given:
            return [text for each in given for text in texts(source, each, depth + 1)]
    raise Unknown(node.id)


def _of_an_error(source: Source, node: ast.expr, name: str, depth: int) -> list[str]:
    """Return the possible texts of ``str(error)``: those of errors that functions called in the ``try`` raise."""
    for handler in source.within(node, ast.ExceptHandler):
        if handler.name == name:
            trial = source.parents[handler]
            assert isinstance(trial, ast.Try)
            kind = ast.unparse(handler.type) if handler.type else ""
            found = list(_raised(source, trial.body, kind.rpartition(".")[2], depth))
            if found:
                return found
    raise Unknown(ast.unparse(node))


def _raised(source: Source, body: Iterable[ast.AST], kind: str, depth: int) -> Iterator[str]:
    for each in (node for part in body for node in ast.walk(part)):
        if isinstance(each, ast.Raise) and isinstance(each.exc, ast.Call):
            if ast.unparse(each.exc.func).rpartition(".")[2] == kind and each.exc.args:
                yield from texts(source, each.exc.args[0], depth + 1)
        elif isinstance(each, ast.Call) and depth < 4:
            for of, function in called(source, each):
                yield from _raised(of, function.body, kind, depth + 1)


def field_of(source: Source, node: ast.expr | None) -> str:
    """Return the field that an error names: empty for none, with a word in angle brackets if it varies."""
    if node is None:
        return ""
    try:
        return " or ".join(dict.fromkeys(texts(source, node)))
    except Unknown:
        return "<field>"


def _arguments(node: ast.AST) -> tuple[str, ast.expr, ast.expr | None] | None:
    """Return the called name, the reason and the field of a call that refuses, or of the body of an error."""
    if isinstance(node, ast.Dict):
        pairs = {key.value: value for key, value in zip(node.keys, node.values, strict=True) if _is_text(key)}
        return ("problem", pairs["reason"], None) if {*pairs} == {"field", "reason"} else None
    if not isinstance(node, ast.Call):
        return None
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    if name == "refuse" and len(node.args) > 2:  # the server's own function, which answers by itself
        return "problem", node.args[1], None
    if name in STATUSES and node.args:
        named = next((keyword.value for keyword in node.keywords if keyword.arg == "field"), None)
        return name, node.args[0], node.args[1] if len(node.args) > 1 else named
    if name == "add" and isinstance(node.func, ast.Attribute) and len(node.args) == 2:
        return "Problem", node.args[1], node.args[0]
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    if reason := keywords.get("violation_error_message"):
        return "Problem", reason, keywords.get("violation_error_code")
    return None


def _is_text(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def collected() -> tuple[list[Refusal], list[str]]:
    """Return all refusals, and the expressions that this module cannot read."""
    found = [Refusal(reason, status, "", "config/api/exceptions.py") for _, status, reason in FIXED]
    unknown = []
    for path, source in sources().items():
        if ELSEWHERE.search(path) or path in FOR_STAFF:
            continue
        for node in source.parents:
            parts = _arguments(node)
            if parts is None:
                continue
            kind, reason, about = parts
            if isinstance(reason, ast.List) and len(reason.elts) == 1:
                reason = reason.elts[0]
            try:
                by_hand = BY_HAND.get((path, ast.unparse(reason)))
                found_texts = texts(source, reason) if by_hand is None else by_hand
            except Unknown:
                unknown.append(f"{path}:{node.lineno}: {ast.unparse(reason)}")
                continue
            found += [Refusal(text, STATUSES[kind], field_of(source, about), path) for text in found_texts]
    return found, unknown


def pattern(reason: str) -> re.Pattern[str]:
    """Return the pattern of a reason, in which any text may replace the words in angle brackets."""
    return re.compile(".+".join(re.escape(piece) for piece in re.split(r"<[^<>]+>", reason)))


def covers(row: str, reason: str) -> bool:
    return bool(pattern(row).fullmatch(reason))


def bodies() -> list[type[Resource]]:
    """Return the resources that operations accept as their body."""
    written = (route for route in routes() if route.method != "get")
    found = {request_of(route) or route.serializer for route in written}
    return sorted(found, key=lambda resource: resource.__qualname__)


def reasons_of(given: serializers.Field, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the reasons for which a field of a body and the fields within it are refused, each after its path."""
    if isinstance(given, serializers.Serializer):
        for name, child in given.fields.items():
            if not child.read_only:
                yield from reasons_of(child, f"{path}.{name}" if path else name)
        return
    yield from ((path, str(text)) for text in given.error_messages.values())
    yield from ((path, str(check.message)) for check in given.validators if hasattr(check, "message"))
    if child := getattr(given, "child", None):
        by_key = isinstance(given, serializers.DictField)
        yield from reasons_of(child, f"{path}.<key>" if by_key else f"{path}[<index>]")


def of_fields() -> Iterator[Refusal]:
    """Yield the refusals by fields of bodies, which no service sees."""
    for resource in bodies():
        path = resource.__module__.replace(".", "/") + ".py"
        for field_path, reason in reasons_of(resource()):
            yield Refusal(reason, 400, field_path, path)
