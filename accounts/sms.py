"""Gateways for short messages. The setting SMS_GATEWAY names one: a callable of a number and a text."""

import json
import logging
from collections.abc import Callable
from urllib.parse import quote_plus

import requests
from django.conf import settings

log = logging.getLogger(__name__)


def console(number: str, text: str) -> None:
    """For development: write the message into the log of the worker."""
    log.warning("SMS to %s: %s", number, text)


class NoGateway(Exception):
    """No gateway is set, so nobody is sent anything."""


def none(number: str, text: str) -> None:
    """Production without a gateway: nothing is sent. Raises `NoGateway`."""
    raise NoGateway("SMS_GATEWAY is not set")


def http(number: str, text: str) -> None:
    """Send one HTTP request, as the settings SMS_HTTP_* describe it. Raises `requests`' errors, on 4xx as well.

    ``{number}`` and ``{text}`` in the address and the body are replaced: in the address encoded for a query, in the
    body encoded as SMS_HTTP_TYPE asks for (``application/json``: the inside of a JSON string; else as in a form).
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
