"""Reads the variables of the environment. An unusable variable ends the process with a line that names it.

An empty variable counts as not set, except for `Environment.text`.
"""

import importlib.util
import ipaddress
import math
import os
import re
import shlex
from datetime import date, datetime
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import SplitResult, urlsplit

import dj_database_url
import dj_email_url
import psycopg
from django.core.mail.message import sanitize_address
from django.utils.module_loading import import_string
from psycopg.conninfo import conninfo_to_dict
from redis.connection import parse_url

from config.environment.places import default_state, starting_folder

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

MAIL_SCHEMES = {"smtp+tls": "submission", "smtp+ssl": "smtp"}
FILES = "django.core.mail.backends.filebased.EmailBackend"
YES, NO = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}
HOST_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*\.?", re.IGNORECASE | re.ASCII)
ALLOWED_HOST = re.compile(r"\*|\.?[a-z0-9_.-]+|\[[0-9a-f:.]+\]", re.IGNORECASE | re.ASCII)
SENDER = re.compile(r"[^<>@\r\n]*<[^<>@\s]+@[^<>@\s]+>|[^<>@\s]+@[^<>@\s]+")
ADDRESS = re.compile(r"[^<>@\s,]+@[^<>@\s,]+")
RATE = re.compile(r"[1-9][0-9]*/[1-9][0-9]*", re.ASCII)
DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_SECONDS = 1_000_000
"""The maximum number of seconds in a variable: some eleven days.

PostgreSQL's limit, in milliseconds, is about twice as long.
"""
RENAMED = {
    "JOB_NOTIFY_PATIENCE": "JOB_RING_PATIENCE",
    "MOVES_EVERY": "MIGRATIONS_EVERY",
    "NODEBALANCER_DIR": "BALANCER_DIR",
    "NODEBALANCER_SOCKET": "BALANCER_SOCKET",
    "NODEBALANCER_USER": "BALANCER_USER",
    "NODEBALANCER_HAPROXY": "BALANCER_HAPROXY",
    "NODEBALANCER_RELOAD": "BALANCER_RELOAD",
}
"""The old names of variables by their current names. This release still reads the old names, with a warning."""
PRIVATE = tuple(map(ipaddress.IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
MAX_PRIVATE_PREFIX = 17
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


class BadVariable(SystemExit):
    """A variable that cannot be used: ``NAME: what is wrong``, without any value that may contain a password.

    It is a `SystemExit`. So any program that reads the settings (manage.py, celery, a web server) prints the line
    without a traceback, and ends with code 1.
    """

    def __init__(self, name: str, problem: str):
        super().__init__(f"{name}: {problem}")


class Environment:
    """Readers of variables by the type of their values. Each method raises `BadVariable`."""

    def text(self, name: str, default: str = "") -> str:
        """Return the variable's text unchanged, even if it is empty.

        If the variable is not set, return `default`.
        """
        return os.environ.get(name, os.environ.get(RENAMED.get(name, ""), default))

    def choice(self, name: str, default: str, choices: tuple[str, ...]) -> str:
        """Return one of `choices`, which are in capitals. The variable may use any case."""
        found = self._given(name).upper() or default
        return found if found in choices else _fail(name, f"{found!r} is none of {', '.join(choices)}")

    def pattern(self, name: str, default: str, pattern: str, meaning: str) -> str:
        found = self._given(name) or default
        return found if re.fullmatch(pattern, found, re.ASCII) else _fail(name, f"{found!r} is not {meaning}")

    def flag(self, name: str, default: bool = False) -> bool:
        found = self._given(name).lower()
        if not found:
            return default
        if found not in YES | NO:
            _fail(name, f"{found!r} is neither on (1, true, yes, on) nor off (0, false, no, off)")
        return found in YES

    def flag_with_modules(self, name: str, modules: tuple[str, ...], page: str) -> bool:
        """Return a flag that is off by default. It can be on only if packages with these modules are installed.

        The error refers to `page`. Only the modules' parents are imported.
        """
        found = self.flag(name)
        if found and not all(map(_is_installed, modules)):
            _fail(name, f"is on, and its packages are not installed: {page} names them")
        return found

    def integer(self, name: str, default: int, least: int = 0, most: int | None = None) -> int:
        found = self._given(name)
        if not found:
            return default
        try:
            number = int(found)
        except ValueError:
            _fail(name, f"{found!r} is not a whole number")
        return int(_within(name, number, least, most))

    def number(self, name: str, default: float, *, zero: bool = False) -> float:
        """Return a number, usually of seconds: more than 0, or with `zero` also 0."""
        found = self._given(name)
        if not found:
            return default
        try:
            number = float(found)
        except ValueError:
            _fail(name, f"{found!r} is not a number")
        if not math.isfinite(number) or not 0 <= number <= MAX_SECONDS or not (number or zero):
            _fail(name, f"must be {'from' if zero else 'more than'} 0 to {MAX_SECONDS}, not {found}")
        return number

    def day(self, name: str, default: str) -> date | None:
        """Return a day such as ``2019-11-05``, or None for ``never``."""
        found = self._given(name).lower() or default
        if found == "never":
            return None
        try:
            return datetime.strptime(found, "%Y-%m-%d").date()
        except ValueError:
            return _fail(name, f"{found!r} is neither a day such as 2019-11-05 nor never")

    def words(self, name: str, default: list[str] | None = None) -> list[str]:
        """Return words separated by commas. Empty words, such as after an extra comma, are dropped."""
        given = self._given(name)
        found = _split(given)
        if given and not found:
            _fail(name, "is an empty list")
        return found or list(default or [])

    def hosts(self, name: str, default: list[str]) -> list[str]:
        """Return patterns of Django's ALLOWED_HOSTS."""
        found = self.words(name, default)
        for each in found:
            if not ALLOWED_HOST.fullmatch(each):
                _fail(name, f"{each!r} is not the name of a host, without https:// or a port")
        return found

    def host_names(self, name: str, default: list[str]) -> list[str]:
        found = self.words(name, default)
        for each in found:
            if not HOST_NAME.fullmatch(each):
                _fail(name, f"{each!r} is not the name of a host such as ns1.example.com")
        return found

    def host_name(self, name: str, default: str) -> str:
        found = self._given(name) or default
        return found if HOST_NAME.fullmatch(found) else _fail(name, f"{found!r} is not a name such as example.com")

    def origins(self, name: str) -> list[str]:
        """Return origins as browsers write them. ``https://*.example.com`` is a domain with all its subdomains."""
        found = {each: _origin(each, wildcard=True) for each in self.words(name)}
        for each, origin in found.items():
            if origin is None:
                _fail(name, f"{each!r} is not an origin such as https://cloud.example.com")
        return [origin for origin in found.values() if origin]

    def site(self, name: str, default: str) -> str:
        """Return an origin as browsers write it: scheme, host, port, and no path."""
        found = self._given(name) or default
        origin = _origin(found)
        return origin or _fail(
            name, f"{found!r} is not an address without a path, such as https://cloud.example.com"
        )

    def address(self, name: str) -> str:
        """Return a URL of HTTP, or an empty text if the variable is not set."""
        found = self._given(name)
        parts = _split_url(found)
        if found and not (parts and parts.scheme in ("http", "https") and parts.hostname):
            _fail(name, "is not an address such as https://sms.example.com/send")
        return found

    def networks(self, name: str) -> list[Network]:
        found = []
        for each in self.words(name):
            try:
                found.append(ipaddress.ip_network(each))
            except ValueError as error:
                _fail(name, f"{error}; a network is written 192.0.2.0/24")
        return found

    def private_network(self, name: str, default: str) -> ipaddress.IPv4Network:
        """Return a private IPv4 network with room for a /21 in each region of the catalogue."""
        found = self._given(name) or default
        try:
            network = ipaddress.IPv4Network(found)
        except ValueError as error:
            _fail(name, f"{error}; a network is written {default}")
        if not any(network.subnet_of(each) for each in PRIVATE):
            _fail(name, f"{found} is not private: it has to be within {', '.join(map(str, PRIVATE))}")
        if network.prefixlen > MAX_PRIVATE_PREFIX:
            _fail(name, f"{found} is too small: each region gets a /21 of it, which needs a /{MAX_PRIVATE_PREFIX}")
        return network

    def name_servers(self, name: str) -> list[str]:
        found = self.words(name)
        for each in found:
            address, at, port = each.partition("@")
            try:
                ipaddress.ip_address(address)
                right = not at or 0 < int(port) < 65536
            except ValueError:
                right = False
            if not right:
                _fail(name, f"{each!r} is not an address such as 192.0.2.1 or 192.0.2.1@5353")
        return found

    def pairs(self, name: str) -> dict[str, str]:
        """Return pairs ``key=value``, separated by commas. Errors repeat no value, which may be a secret."""
        split = [each.partition("=") for each in self.words(name)]
        if not all(key.strip() and equals for key, equals, _ in split):
            _fail(name, "is not a list such as Name=value,Other=value")
        return {key.strip(): value for key, _, value in split}

    def rate(self, name: str, default: str) -> str:
        found = self._given(name) or default
        return (
            found if RATE.fullmatch(found) else _fail(name, f"{found!r} is not requests/seconds, such as {default}")
        )

    def dotted_path(self, name: str, default: str) -> str:
        """Return the dotted path of an object in a module that exists.

        Imports nothing: settings are not complete yet.
        """
        found = self._given(name)
        return _module_checked(name, found, default) if found else default

    def dotted_paths(self, name: str, default: dict[str, str]) -> dict[str, str]:
        """Return names with dotted paths (``mine=my.module.Class``), separated by commas, in addition to
        `default`.
        """
        found = dict(default)
        for part in filter(None, map(str.strip, self._given(name).split(","))):
            key, equals, path = map(str.strip, part.partition("="))
            if not (equals and re.fullmatch(r"[a-z][a-z0-9-]*", key)):
                _fail(name, f"{part!r} is not a name and a dotted path such as mine=my.module.Class")
            found[key] = _module_checked(name, path, "my.module.Class")
        return found

    def command(self, name: str, default: str) -> str:
        found = self._given(name) or default
        try:
            shlex.split(found)
        except ValueError as error:
            _fail(name, f"{found!r} is not a command: {str(error).lower()}")
        return found

    def folder(self, name: str, default: Path) -> Path:
        """Return the absolute path of a folder that exists or can be created."""
        try:
            found = (starting_folder() / (self._given(name) or default)).resolve()
            nearest = next(each for each in (found, *found.parents) if each.exists())
        except (OSError, RuntimeError) as error:  # the path is too long, or has a circle of links
            _fail(name, f"the folder cannot be created: {getattr(error, 'strerror', None) or error}")
        return found if nearest.is_dir() else _fail(name, f"{nearest} is not a folder")

    def state_folder(self, name: str) -> Path:
        """Return the folder of the data: the variable's, or by default one in the source tree or this user's."""
        usual = default_state()
        if usual is None and not self._given(name):
            _fail(name, "is needed, because this user has no home folder")
        return self.folder(name, usual or Path())

    def writable(self, name: str, folder: Path) -> Path:
        """Return `folder`, the variable's value, if this user can write to it or create it."""
        nearest = next(each for each in (folder, *folder.parents) if each.exists())
        if not os.access(nearest, os.W_OK | os.X_OK):
            _fail(name, f"this user cannot write to {nearest}")
        return folder

    def database(self, name: str) -> dict[str, Any] | None:
        """Return an entry of Django's DATABASES, or None if the variable is not set."""
        found = self._given(name)
        if not found:
            return None
        advice = "is not an address such as postgres://user:password@host/name"
        try:
            parsed: dict[str, Any] = dict(dj_database_url.parse(found))
        except ValueError:
            _fail(name, f"{advice}; in a password, # / @ and : are written %23 %2F %40 and %3A")
        if parsed["ENGINE"] != "django.db.backends.postgresql" or not parsed["NAME"]:
            _fail(name, advice)
        return parsed

    def conninfo(self, name: str) -> str:
        found = self._given(name)
        try:
            conninfo_to_dict(found)
        except psycopg.ProgrammingError:
            _fail(name, "is not a connection string of PostgreSQL, such as host=db dbname=hypervisor")
        return found

    def redis(self, name: str) -> str:
        found = self._given(name)
        try:
            if found:
                parse_url(found)
        except ValueError:
            _fail(name, "is not an address such as redis://host:6379/0")
        return found

    def sender(self, name: str, default: str) -> str:
        """Return the sender of mails, valid in a mail's header: a comma in a name, for example, would end the
        address.
        """
        found = self._given(name) or default
        try:
            right = SENDER.fullmatch(found) and "@" in sanitize_address(found, "utf-8")
        except ValueError:
            right = False
        advice = 'is not a sender such as Skerry <noreply@example.com> or "Skerry, Inc." <noreply@example.com>'
        return found if right else _fail(name, f"{found!r} {advice}")

    def mail_addresses(self, name: str) -> list[str]:
        """Return comma-separated addresses of mails."""
        found = self.words(name)
        for each in found:
            if not ADDRESS.fullmatch(each):
                _fail(name, f"{each!r} is not an address such as operator@example.com")
        return found

    def mail_server(self, name: str) -> dict[str, Any]:
        """Return Django's ``EMAIL_…`` settings. If the variable is not set, mails go to the console."""
        advice = "is not an address such as smtp+tls://user:password@mail.example.com:587"
        found = self._given(name) or "console:"
        scheme, colon, rest = found.partition(":")
        try:
            # The parser has other names for these than the URL schemes of other programs.
            parsed: dict[str, Any] = dict(dj_email_url.parse(MAIL_SCHEMES.get(scheme, scheme) + colon + rest))
            parsed["EMAIL_FILE_PATH"] = urlsplit(found).path or None  # the parser drops the leading slash
        except ValueError:
            _fail(name, f"{advice}; in a password, # / @ and : are written %23 %2F %40 and %3A")
        if "EMAIL_BACKEND" not in parsed:
            _fail(name, advice)
        if scheme in MAIL_SCHEMES and not parsed["EMAIL_HOST"]:
            _fail(name, advice)
        if parsed["EMAIL_BACKEND"] == FILES and (parsed["EMAIL_HOST"] or not parsed["EMAIL_FILE_PATH"]):
            _fail(name, "names no folder: file:///folder, with three slashes")
        if scheme == "smtp+ssl":
            parsed |= {"EMAIL_USE_SSL": True, "EMAIL_USE_TLS": False}
        return parsed

    def _given(self, name: str) -> str:
        return os.environ.get(name, "").strip() or os.environ.get(RENAMED.get(name, ""), "").strip()


def multiplied(rate: str, times: int) -> str:
    """Return a rate such as ``1600/120`` that allows `times` as many requests in the same time."""
    count, _, window = rate.partition("/")
    return f"{int(count) * times}/{window}"


def renamed_in_use() -> list[tuple[str, str]]:
    """Return the old names of variables that are set, each with its current name."""
    return [(old, new) for new, old in RENAMED.items() if old in os.environ]


def is_set(name: str) -> bool:
    """Tell whether a variable is set to more than blanks."""
    return bool(os.environ.get(name, "").strip())


def import_named(*names: str) -> None:
    """Import the objects that these variables name by dotted paths, if set. Call it once models are loaded.

    Raises `BadVariable` if the module has no such object.
    """
    for name in names:
        if found := os.environ.get(name, "").strip():
            for part in found.split(","):
                try:
                    import_string(part.rpartition("=")[2].strip())
                except ImportError as error:
                    _fail(name, str(error))


def _module_checked(name: str, path: str, example: str) -> str:
    module, dot, attribute = path.rpartition(".")
    if not (dot and all(part.isidentifier() for part in path.split("."))):
        _fail(name, f"{path!r} is not a dotted path such as {example}")
    return path if _is_installed(module) else _fail(name, f"there is no module {module!r} to have {attribute!r}")


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # its package is missing
        return False


def _fail(name: str, problem: str) -> NoReturn:
    raise BadVariable(name, problem) from None


def _within(name: str, number: int, least: int, most: int | None) -> int:
    if number < least or (most is not None and number > most):
        bounds = f"{least} or more" if most is None else f"from {least} to {most}"
        _fail(name, f"must be {bounds}, not {number}")
    return number


def _split(text: str) -> list[str]:
    return [word for each in text.split(",") if (word := each.strip())]


def _split_url(text: str) -> SplitResult | None:
    """Return the parts of a URL, or None if `text` is no URL.

    The port is checked too, which urllib parses lazily.
    """
    try:
        parts = urlsplit(text)
        return parts if parts.port != 0 and not re.search(r"\s", text) else None
    except ValueError:
        return None


def _origin(text: str, *, wildcard: bool = False) -> str | None:
    """Return the origin that a browser sends for pages below the address. None for more than an origin, or no
    address.

    Origins are compared literally: no capitals, no port that the scheme implies, other alphabets as ``xn--``.
    """
    parts = _split_url(text)
    if parts is None or parts.scheme not in DEFAULT_PORTS or parts.username or parts.query or parts.fragment:
        return None
    host = _host(parts.hostname or "", wildcard)
    if host is None or parts.path not in ("", "/"):
        return None
    port = "" if parts.port in (None, DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def _host(name: str, wildcard: bool) -> str | None:
    try:
        if ":" in name:
            return f"[{ipaddress.IPv6Address(name)}]"
        ascii_ = name.encode("idna").decode()
    except ValueError:
        return None
    bare = ascii_.removeprefix("*.") if wildcard else ascii_
    return ascii_ if HOST_NAME.fullmatch(bare) else None
