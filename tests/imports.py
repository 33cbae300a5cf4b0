"""The imports of every module, read from its source.

Imports inside functions and imports for the type checker count. Calls of a function of `IMPORTERS` with a literal
name count too. A name that comes from a setting or a file is known only at run time, and does not count.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
APPS = ("accounts", "regions", "tags", "compute", "managed")
"""From left to right: an app imports the apps to its left, and config."""
OURS = (*APPS, "config", "tests")
BELOW = {
    "actors",
    "countries",
    "entities",
    "event_names",
    "pictures",
    "punycode",
    "quotas",
    "redirects",
    "scopes",
    "ssh_keys",
}
"""Modules below the models of an app, or beside them: names, parsers and registries without tables."""
REFERENCES = {"refs", "listeners", "resources", "machine_names"}

# layer: the layers of apps, and the packages and modules of config, that it may import besides itself
LAYERS: dict[str, tuple[set[str], set[str]]] = {
    **{name: (BELOW, set()) for name in BELOW},
    "models": (BELOW, {"encryption"}),
    "refs": ({"models", "services"}, set()),
    "listeners": ({"models"}, set()),
    "resources": (set(), set()),
    "machine_names": (set(), set()),
    "drivers": (set(), set()),
    "jobs": (
        BELOW | REFERENCES | {"models", "services", "drivers"},
        {"db", "encryption", "errors", "monitoring", "notify", "queues", "tracing"},
    ),
    "services": (
        BELOW | REFERENCES | {"models", "jobs", "drivers"},
        {
            "db",
            "egress",
            "encryption",
            "errors",
            "folders",
            "limits",
            "notify",
            "plurals",
            "queues",
            "version",
        },
    ),
    "prober": ({"models", "services"}, {"egress", "errors"}),
    "worker": (
        BELOW | REFERENCES | {"models", "jobs", "services", "drivers"},
        {"db", "encryption", "errors", "logging", "notify", "tracing", "version"},
    ),
    "authentication": (BELOW | {"models"}, {"db"}),
    "openid": (set(), {"openid"}),
    "hashers": (set(), set()),
    "sms": (set(), set()),
    "filters": (BELOW | {"models"}, {"filters"}),
    "serializers": (BELOW | REFERENCES | {"models", "services"}, {"api"}),
    "api": (
        BELOW | REFERENCES | {"filters", "serializers", "models", "services"},
        {"api", "client_address", "db", "errors", "headers", "paths"},
    ),
    "pages": (
        BELOW | {"filters", "serializers", "models", "services", "openid"},
        {
            "charts",
            "client_address",
            "db",
            "encryption",
            "errors",
            "headers",
            "integers",
            "openid",
            "pages",
            "plurals",
            "time_zones",
        },
    ),
    "oauth": (BELOW | {"models", "services", "pages"}, {"api", "client_address", "hidden_characters"}),
    "admin": (
        BELOW | REFERENCES | {"models", "services", "jobs"},
        {"admin", "charts", "errors", "integers", "plurals"},
    ),
    "checks": ({"services"}, set()),
    "tasks": ({"services", "prober", "worker"}, {"notify"}),
    "monitoring": ({"models", "services", "jobs"}, {"monitoring", "queues", "version"}),
    "management": (
        BELOW | {"models", "services", "worker", "drivers"},
        {"command_errors", "errors", "folders", "integers", "plurals"},
    ),
    "apps": (BELOW | REFERENCES | {"models", "services", "jobs", "worker", "checks"}, {"api", "egress"}),
}

# of config: the packages and modules that each may import besides itself; only the first may import apps
CONFIG: dict[str, set[str]] = {
    "urls": {"api", "monitoring", "reference"},
    "openapi": set(),
    "errors": set(),
    "headers": set(),
    "integers": set(),
    "client_address": set(),
    "db": {"errors"},
    "limits": {"headers", "metering"},
    "metering": {"db"},
    "filters": {"errors", "integers"},
    "api": {
        "client_address",
        "compression",
        "db",
        "errors",
        "filters",
        "headers",
        "hidden_characters",
        "limits",
        "logging",
        "openapi",
    },
    "admin": {"charts", "db", "errors", "headers", "integers", "plurals"},
    "charts": set(),
    "templatetags": {"admin", "hidden_characters", "pages", "time_zones"},
    "time_zones": set(),
    "hidden_characters": set(),
    "encryption": set(),
    "egress": set(),
    "notify": set(),
    "pages": {"api", "errors", "headers", "integers", "paths"},
    "paths": set(),
    "plurals": set(),
    "queues": set(),
    "error_pages": {"api", "db", "pages", "paths"},
    "reference": {"api", "pages"},
    "cors": {"headers"},
    "openid": {"environment"},
    "logging": set(),
    "handler": {"headers"},
    "folders": set(),
    "formats": set(),
    "environment": set(),
    "version": set(),
    "bootstrap": set(),
    "command_errors": {"environment", "errors", "plurals"},
    "middleware": {"api", "headers", "logging", "monitoring", "paths", "tracing"},
    "monitoring": {"api", "db", "draining", "version"},
    "draining": set(),
    "tracing": {"version"},
    "laptop": {"db", "environment", "folders"},
    "settings": {"environment", "laptop", "logging", "openapi", "openid"},
    "checks": {"environment", "laptop", "monitoring"},
    "starting": {"checks"},
    "celery": {"logging", "monitoring", "queues", "starting", "tracing"},
    "wsgi": {"db", "handler", "starting"},
    "server": {"api", "client_address", "compression", "draining", "paths"},
    "compression": set(),
    "console_broker": {"errors", "server"},
    "presence": {"db", "monitoring", "server", "tracing"},
    "streams": {"console_broker", "presence", "server", "wsgi"},
    "rsgi": {"presence", "server", "streams", "wsgi"},
    "apps": {"checks", "db", "environment"},
    "management": {"admin", "celery", "command_errors", "db", "encryption", "environment", "laptop", "plurals"},
}
PLAIN_VALUES = "compute.drivers.base"
"""The protocol and the values of drivers: the only module of `drivers` that jobs and services may import."""
ENTRANCES = {"urls", "rsgi", "streams", "console_broker", "presence", "management"}
"""Packages of config that may import apps: addresses, servers and commands."""

IMPORTERS = {"import_module", "import_string", "__import__"}
"""Functions that import the module of a dotted name."""


@dataclass(frozen=True)
class Import:
    """An import: `module` imports `target`, on a line of its file."""

    module: str
    target: str
    line: int

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"


def modules() -> Iterator[tuple[str, bool, ast.Module]]:
    """Yield name, whether it is a package, and syntax tree of every module except migrations and tests."""
    for top in (*APPS, "config"):
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if "migrations" not in parts:
                package = parts[-1] == "__init__"
                yield ".".join(parts[:-1] if package else parts), package, ast.parse(path.read_text(), str(path))


def imports_of(name: str, package: bool, tree: ast.Module) -> Iterator[Import]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(name, alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                own = name.split(".")
                above = own[: len(own) - node.level + package]
                base = ".".join([*above, *([base] if base else [])])
            for alias in node.names:
                yield Import(name, f"{base}.{alias.name}", node.lineno)
        elif isinstance(node, ast.Call) and (target := _literal_name(node)):
            yield Import(name, target, node.lineno)


def _literal_name(call: ast.Call) -> str | None:
    """Return the dotted name in a call of an importer, e.g. ``"a.b"`` of ``importlib.import_module("a.b")``."""
    function = call.func
    called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    arguments = [*call.args, *(each.value for each in call.keywords if each.arg in ("name", "dotted_path"))]
    if called not in IMPORTERS or not arguments:
        return None
    first = arguments[0]
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None


MODULES = list(modules())
IMPORTS = [found for each in MODULES for found in imports_of(*each)]


def within(name: str, *packages: str) -> bool:
    """Tell whether a dotted name is one of the packages or in it."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def app_of(name: str) -> str:
    return name.partition(".")[0]


def layer_of(name: str) -> str:
    """Return the layer of a module of ours: ``models``, ``services``, ``api`` … Empty for top-level packages
    and others."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and parts[0] in OURS else ""


def graph_of(names: Iterable[str], imports: Iterable[Import]) -> dict[str, dict[str, Import]]:
    """Return the imports of each module, with the first import of each target."""
    graph: dict[str, dict[str, Import]] = {name: {} for name in names}
    for each in imports:
        target = each.target if each.target in graph else each.target.rpartition(".")[0]
        if target in graph and target != each.module:
            graph[each.module].setdefault(target, each)
    return graph
