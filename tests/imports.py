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
"""Modules that models may import: names, parsers and registries without tables."""
REFERENCES = {"refs", "listeners", "resources", "machine_names"}

# layer: the layers of apps, and the packages and modules of config, that it may import besides itself
LAYERS: dict[str, tuple[set[str], set[str]]] = {
    **{name: (BELOW, {"word"}) for name in BELOW},
    "models": (BELOW, {"encryption", "word"}),
    "refs": ({"models", "services"}, set()),
    "listeners": ({"models"}, set()),
    "resources": (set(), set()),
    "machine_names": (set(), set()),
    "drivers": (set(), set()),
    "jobs": (
        BELOW | REFERENCES | {"drivers", "models", "services"},
        {"db", "encryption", "errors", "monitoring", "processes.notify", "processes.queues", "processes.tracing"},
    ),
    "services": (
        BELOW | REFERENCES | {"drivers", "jobs", "models"},
        {
            "db",
            "display.plurals",
            "egress",
            "encryption",
            "environment.folders",
            "errors",
            "limits.rates",
            "processes.notify",
            "processes.queues",
            "version",
            "word",
        },
    ),
    "prober": ({"models", "services"}, {"egress", "errors"}),
    "worker": (
        BELOW | REFERENCES | {"drivers", "jobs", "models", "services"},
        {
            "db",
            "encryption",
            "errors",
            "processes.logging",
            "processes.notify",
            "processes.tracing",
            "version",
            "word",
        },
    ),
    "authentication": (BELOW | {"models"}, {"db"}),
    "openid": (set(), {"environment.openid"}),
    "hashers": (set(), set()),
    "sms": (set(), set()),
    "filters": (BELOW | {"models"}, {"filters", "word"}),
    "serializers": (BELOW | REFERENCES | {"models", "services"}, {"api", "word"}),
    "api": (
        BELOW | REFERENCES | {"filters", "models", "serializers", "services"},
        {"api", "db", "errors", "web.client_address", "web.headers", "web.paths", "word"},
    ),
    "display": (
        BELOW | {"models", "services"},
        {"display.charts", "display.plurals", "display.quantities", "display.time_zones"},
    ),
    "pages": (
        BELOW | {"display", "filters", "models", "openid", "serializers", "services"},
        {
            "db",
            "display.charts",
            "display.differences",
            "display.integers",
            "display.plurals",
            "display.quantities",
            "display.spreadsheets",
            "display.statuses",
            "display.time_zones",
            "encryption",
            "environment.openid",
            "errors",
            "pages",
            "web.client_address",
            "web.downloads",
            "web.headers",
            "word",
        },
    ),
    "oauth": (
        BELOW | {"models", "pages", "services"},
        {"api", "display.hidden_characters", "web.client_address", "word"},
    ),
    "admin": (
        BELOW | REFERENCES | {"display", "jobs", "models", "services"},
        {
            "admin",
            "display.charts",
            "display.integers",
            "display.plurals",
            "display.quantities",
            "display.statuses",
            "errors",
            "web.downloads",
        },
    ),
    "checks": ({"services"}, set()),
    "tasks": ({"prober", "services", "worker"}, {"processes.notify"}),
    "monitoring": ({"jobs", "models", "services"}, {"monitoring", "processes.queues", "version"}),
    "management": (
        BELOW | {"drivers", "models", "services", "worker"},
        {
            "display.integers",
            "display.plurals",
            "display.spreadsheets",
            "environment.folders",
            "environment.places",
            "errors",
            "processes.command_errors",
            "word",
        },
    ),
    "apps": (BELOW | REFERENCES | {"checks", "jobs", "models", "services", "worker"}, {"api", "egress", "word"}),
}

ROOMS = {"display", "environment", "limits", "processes", "web"}
"""Packages of config whose modules stand in the table one by one, because they serve different layers."""

# of config: the packages and modules that each may import besides itself; only `ENTRANCES` may import apps
CONFIG: dict[str, set[str]] = {
    "urls": {"api", "monitoring", "reference"},
    "errors": set(),
    "web.headers": set(),
    "web.downloads": set(),
    "display.integers": set(),
    "web.client_address": set(),
    "db": {"errors"},
    "limits.rates": {"limits.metering", "web.headers"},
    "limits.metering": {"db"},
    "environment.words": {"environment.variables"},
    "word": {"environment.words"},
    "filters": {"display.integers", "environment.words", "errors", "word"},
    "api": {
        "db",
        "display.hidden_characters",
        "errors",
        "filters",
        "limits.rates",
        "processes.logging",
        "web.client_address",
        "web.compression",
        "web.headers",
        "word",
    },
    "admin": {
        "db",
        "display.charts",
        "display.integers",
        "display.plurals",
        "display.spreadsheets",
        "errors",
        "web.headers",
    },
    "display.charts": set(),
    "display.differences": set(),
    "display.quantities": {"display.plurals"},
    "display.statuses": set(),
    "templatetags": {
        "admin",
        "display.hidden_characters",
        "display.quantities",
        "display.statuses",
        "display.time_zones",
        "pages",
        "word",
    },
    "display.time_zones": set(),
    "display.hidden_characters": set(),
    "encryption": set(),
    "egress": set(),
    "processes.notify": set(),
    "pages": {"api", "db", "display.integers", "errors", "web.headers", "web.paths", "word"},
    "web.paths": set(),
    "display.plurals": set(),
    "display.spreadsheets": set(),
    "processes.queues": set(),
    "web.error_pages": {"api", "db", "pages", "web.headers", "web.paths"},
    "reference": {"api", "pages", "word"},
    "web.cors": {"web.headers"},
    "environment.openid": {"environment.variables"},
    "processes.logging": set(),
    "web.handler": {"web.headers"},
    "environment.folders": {"environment.places"},
    "environment.places": set(),
    "formats": set(),
    "environment.variables": {"environment.places"},
    "launcher": set(),
    "version": set(),
    "bootstrap": set(),
    "processes.command_errors": {
        "display.plurals",
        "environment.places",
        "environment.variables",
        "errors",
    },
    "web.middleware": {"api", "monitoring", "processes.logging", "processes.tracing", "web.headers", "web.paths"},
    "monitoring": {"api", "db", "processes.draining", "version"},
    "processes.draining": set(),
    "processes.tracing": {"version"},
    "processes.garbage": set(),
    "processes.programs": {"environment.places"},
    "laptop": {
        "db",
        "environment.folders",
        "environment.places",
        "environment.variables",
        "processes.programs",
        "word",
    },
    "settings": {
        "api",
        "environment.openid",
        "environment.variables",
        "environment.words",
        "laptop",
        "processes.logging",
    },
    "environment.checks": {"environment.variables", "laptop", "monitoring"},
    "processes.starting": {"environment.checks"},
    "celery": {
        "environment.places",
        "monitoring",
        "processes.logging",
        "processes.queues",
        "processes.starting",
        "processes.tracing",
    },
    "wsgi": {"db", "errors", "processes.starting", "web.handler", "word"},
    "server": {"api", "processes.draining", "web.client_address", "web.compression", "web.paths"},
    "web.compression": set(),
    "processes.console_broker": {"errors", "server"},
    "processes.background_services": {"db", "monitoring", "processes.tracing", "server"},
    "streams": {"processes.console_broker", "processes.background_services", "server", "wsgi"},
    "rsgi": {"processes.background_services", "server", "streams", "wsgi"},
    "apps": {"db", "environment.checks", "environment.variables", "errors", "word"},
    "preload": {"celery", "processes.garbage", "processes.programs", "reference", "server", "urls", "web.handler"},
    "management": {
        "admin",
        "celery",
        "db",
        "display.plurals",
        "encryption",
        "environment.places",
        "environment.variables",
        "laptop",
        "preload",
        "processes.command_errors",
        "processes.garbage",
    },
}
PLAIN_VALUES = "compute.drivers.base"
"""The protocol and the values of drivers: the only module of `drivers` that jobs and services may import."""
ENTRANCES = {"urls", "rsgi", "streams", "processes.console_broker", "processes.background_services", "management"}
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
    """Return the layer of a module of ours, such as ``models``, or ``web.headers`` in one of `ROOMS`.

    It is empty for top-level packages and others.
    """
    parts = name.split(".")
    if parts[0] == "config" and parts[1:2] and parts[1] in ROOMS:
        return ".".join(parts[1:3])
    return parts[1] if len(parts) > 1 and parts[0] in OURS else ""


def graph_of(names: Iterable[str], imports: Iterable[Import]) -> dict[str, dict[str, Import]]:
    """Return the imports of each module, with the first import of each target."""
    graph: dict[str, dict[str, Import]] = {name: {} for name in names}
    for each in imports:
        target = each.target if each.target in graph else each.target.rpartition(".")[0]
        if target in graph and target != each.module:
            graph[each.module].setdefault(target, each)
    return graph
