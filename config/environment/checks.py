"""System checks for variables that production lacks, or that would harm it: one sentence each, naming the variable.

`manage.py check --deploy` and every other command print them, and each process logs them at its start
(config/processes/starting.py). A setting that would open an installation to others is an error, numbered with an E:
production does not start. REHEARSAL turns errors into warnings, for trials of production's rules on one machine.
"""

from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import redis
from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as Finding
from django.http.request import validate_host
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.environment.variables import is_set, renamed_in_use
from config.laptop.embedded import addresses
from config.monitoring import health

MIN_KEY_LENGTH = 32
FEWEST_CHARACTERS = 10
"""The minimum number of different characters in a key. 99.9 % of the shortest hexadecimal keys have more."""
GUESSES = ("change", "secret", "insecure", "password", "example")
"""Words in a key that was copied from an example."""
CONSOLE = "django.core.mail.backends.console.EmailBackend"
SMS_CONSOLE = "accounts.sms.console"
BROKER_WITHIN = 2.0
"""Seconds to wait for a connection to the broker, and for its answer."""


@register()
def production(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Return the findings in production only: a laptop sets none of these variables."""
    return findings() if settings.PRODUCTION else []


@register()
def renamed_variables(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Warn of variables with names of the previous release, which the next release no longer reads."""
    return [
        Finding(f"{old} was renamed to {new}: the next release does not read the old name.", id="skerry.W016")
        for old, new in renamed_in_use()
    ]


@register(deploy=True)
def deployed(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Return, with ``--deploy`` outside of production, the findings that production would have."""
    if settings.PRODUCTION:
        return []
    off = "PRODUCTION is not set: cookies are sent without TLS, and keys are generated in STATE_DIR."
    return [Finding(off, id="skerry.W001"), *findings()]


@register(Tags.database, deploy=True)
def running(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Check, with ``--deploy --database``, that the broker answers and the database has the tables of this release.

    A database that does not answer is W029 (compute/checks.py).
    """
    if not databases:
        return []
    found = [("W038", _broker())]
    found += [("W039", each.text) for each in health.failures() if each.component == "migrations"]
    return [Finding(sentence, id=f"skerry.{number}") for number, sentence in found if sentence]


def _broker() -> str:
    """Return why the broker does not answer, or an empty text."""
    try:
        with redis.Redis.from_url(
            settings.REDIS_URL,
            socket_connect_timeout=BROKER_WITHIN,
            socket_timeout=BROKER_WITHIN,
            retry=Retry(NoBackoff(), 0),
        ) as broker:
            broker.ping()
    except redis.RedisError as error:
        reason = " ".join(str(error).split())
        return f"The broker at REDIS_URL does not answer: jobs start late, and limits count per process ({reason})."
    return ""


def findings() -> list[CheckMessage]:
    """Return all findings about the current settings."""
    sentences = (*_address(), *_secrets(), *_services())
    refused = settings.PRODUCTION and not settings.REHEARSAL
    return [
        (Error if refused and number.startswith("E") else Finding)(sentence, id=f"skerry.{number}")
        for number, sentence in sentences
    ]


def is_guessable(key: str) -> bool:
    """Tell whether a person could guess the key: it is short, has few different characters, or contains a word."""
    return (
        len(key) < MIN_KEY_LENGTH
        or len(set(key)) < FEWEST_CHARACTERS
        or any(word in key.lower() for word in GUESSES)
    )


def _address() -> Iterator[tuple[str, str]]:
    """Yield the number and sentence of each finding about the addresses of the installation."""
    site = urlsplit(settings.SITE_URL)
    host = site.hostname or ""
    if _is_loopback(host):
        yield (
            "E002",
            f"SITE_URL is {settings.SITE_URL}: links in mails lead to the reader's own machine.",
        )
    elif site.scheme != "https" and settings.SESSION_COOKIE_SECURE:
        yield (
            "W003",
            f"SITE_URL is {settings.SITE_URL}, without https: with SECURE_COOKIES, nobody can sign in.",
        )
    if "*" in settings.ALLOWED_HOSTS:
        yield "E004", "ALLOWED_HOSTS is *: an attacker can get links to any host name. Set the host of SITE_URL."
    elif not _is_loopback(host) and not validate_host(host, settings.ALLOWED_HOSTS):
        yield "W005", f"ALLOWED_HOSTS lacks {host}, the host of SITE_URL: requests to this host are answered 400."
    if not settings.NUM_PROXIES:
        yield (
            "W006",
            (
                "NUM_PROXIES is 0: behind a proxy, all clients have the proxy's address in logins and limits, "
                "and https requests count as requests without TLS."
            ),
        )
    if not settings.SESSION_COOKIE_SECURE:
        yield "W007", "SECURE_COOKIES is off: browsers send sessions over connections without TLS too."


def _secrets() -> Iterator[tuple[str, str]]:
    if settings.DEBUG:
        yield "E008", "DEBUG is on: error pages show settings and source to every client."
    if is_guessable(settings.SECRET_KEY):
        yield "E009", "SECRET_KEY can be guessed: create one with `openssl rand -hex 32`."
    one_key = settings.ENCRYPTION_KEYS == [settings.SECRET_KEY]
    if one_key and not is_set("ENCRYPTION_KEYS"):
        yield (
            "W010",
            "ENCRYPTION_KEYS is not set: SECRET_KEY encrypts stored secrets. If SECRET_KEY changes, they are lost.",
        )
    elif any(map(is_guessable, settings.ENCRYPTION_KEYS)):
        yield (
            "E011",
            "ENCRYPTION_KEYS has a key that can be guessed: replace it (docs/operating.md#new-encryption-keys).",
        )
    elif one_key:
        yield (
            "W010",
            "ENCRYPTION_KEYS is the same as SECRET_KEY: use separate keys (docs/operating.md#new-encryption-keys).",
        )
    if not settings.STAFF_SECOND_FACTOR:
        yield "W019", "STAFF_SECOND_FACTOR is off: staff need only a password for the admin."
    if is_open_to_others(settings.STATE_DIR):
        yield (
            "E017",
            f"STATE_DIR is {settings.STATE_DIR}, which other users of this machine can read: set its mode to 0700.",
        )


def _services() -> Iterator[tuple[str, str]]:
    if settings.DATABASES["default"].get("HOST") == str(addresses.socket_folder(settings.STATE_DIR)):
        yield "W012", "DATABASE_URL is not set: the embedded database is only for `make serve` and commands."
    if addresses.redis_url(settings.STATE_DIR) == settings.REDIS_URL:
        yield "W013", "REDIS_URL is not set: the embedded broker is only for `make serve`."
    if settings.EMAIL_BACKEND == CONSOLE:
        yield (
            "E014",
            "EMAIL_URL is not set: invitations and password links would be written to the worker's log.",
        )
    elif settings.DEFAULT_FROM_EMAIL.rstrip(">").endswith(".example"):
        yield "W015", f"MAIL_FROM is {settings.DEFAULT_FROM_EMAIL}: mail servers refuse mail from this domain."

    redis = urlsplit(settings.REDIS_URL)
    if redis.hostname and not redis.password and not _is_loopback(redis.hostname):
        yield (
            "W020",
            "REDIS_URL has no password: anyone who reaches that server can send tasks to workers and reset limits.",
        )
    yield from _watching()
    named = {"PLATFORM_DOMAIN": [settings.PLATFORM_DOMAIN], "DNS_NAMESERVERS": settings.DNS_NAMESERVERS}
    for variable, names in named.items():
        if any(name.rstrip(".").endswith(".example") for name in names):
            yield "W023", f"{variable} is {','.join(names)}: customers see names that do not exist."
    if settings.SMS_GATEWAY == SMS_CONSOLE:
        yield "E018", "SMS_GATEWAY is accounts.sms.console: codes would be written to the worker's log."


def _watching() -> Iterator[tuple[str, str]]:
    if not (settings.OPERATOR_EMAILS or settings.OPERATOR_WEBHOOK):
        yield (
            "W021",
            "OPERATOR_EMAIL and OPERATOR_WEBHOOK are not set: no alert is sent if workers, clock or hosts fail.",
        )
    if not settings.METRICS_TOKEN:
        yield (
            "W022",
            "METRICS_TOKEN is not set: /metrics refuses all requests, so nothing can monitor this installation.",
        )


def is_open_to_others(folder: Path) -> bool:
    """Tell whether other users of this machine may read or list the folder.

    A missing folder will be made private.
    """
    try:
        return bool(folder.stat().st_mode & 0o077)
    except FileNotFoundError:
        return False


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
