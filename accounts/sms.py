"""Gateways for short messages. The setting SMS_GATEWAY names one: a callable of a number and a text."""

import json
import logging
from collections.abc import Callable
from urllib.parse import quote_plus

import requests
from django.conf import settings

log = logging.getLogger(__name__)


def console(number: str, text: str) -> None:
    """Write the message into the log of the worker, for development."""
    log.warning("SMS to %s: %s", number, text)


class NoGateway(Exception):
    """No gateway is set, so no message is sent."""


def none(number: str, text: str) -> None:
    """Raise `NoGateway`: production without a gateway sends nothing."""
    raise NoGateway("SMS_GATEWAY is not set")


def http(number: str, text: str) -> None:
    """Send one HTTP request, as the settings SMS_HTTP_* describe it. Raises `requests`' errors, on 4xx as well.

    ``{number}`` and ``{text}`` are replaced in the address and in the body. The address encodes them for a query.
    The body encodes them by SMS_HTTP_TYPE: for ``application/json`` as the inside of a JSON string, else as in a
    form.
    """
    as_json = settings.SMS_HTTP_TYPE == "application/json"
    in_body = (lambda value: json.dumps(value)[1:-1]) if as_json else quote_plus
    answer = requests.request(
        settings.SMS_HTTP_METHOD,
        _fill(settings.SMS_HTTP_URL, quote_plus, number, text),
        data=_fill(settings.SMS_HTTP_BODY, in_body, number, text).encode() or None,
        headers={"Content-Type": settings.SMS_HTTP_TYPE, **settings.SMS_HTTP_HEADERS},
        timeout=settings.SMS_HTTP_TIMEOUT,
        allow_redirects=False,
    )
    answer.raise_for_status()


def _fill(template: str, encode: Callable[[str], str], number: str, text: str) -> str:
    return template.replace("{number}", encode(number)).replace("{text}", encode(text))
