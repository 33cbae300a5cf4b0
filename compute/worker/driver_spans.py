"""Calls of drivers as spans of a trace, with the verb, the host, the subject and the host's error."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, cast
from urllib.parse import urlsplit

from compute.drivers.base import Address, Driver, DriverError
from compute.models import Host
from config.processes import tracing


class _Traced:
    """A proxy of a driver that records each call of a job as a span.

    Calls outside of a job are left out, because the watchdog's calls alone would be most of all spans. Of the
    arguments, only the first is recorded, the name of a machine, volume or archive: others may be passwords.
    """

    def __init__(self, driver: Driver, address: Address):
        self._driver = driver
        self._address = address

    def __getattr__(self, verb: str) -> Any:
        found = getattr(self._driver, verb)
        return partial(self._call, verb, found) if callable(found) else found

    def _call(self, verb: str, function: Callable[..., Any], *values: Any, **named: Any) -> Any:
        if not tracing.inside():
            return self._pass(function, values, named)
        subject = values[0] if values and isinstance(values[0], str) else None
        described = {**self._host, "skerry.driver.verb": verb, "skerry.driver.subject": subject}
        with tracing.span(f"driver {verb}", "client", described) as this:
            try:
                return self._pass(function, values, named)
            except DriverError as error:
                this.fail(str(error))
                raise

    def _pass(self, function: Callable[..., Any], values: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Call the function with unwrapped drivers: a driver recognizes others of its kind by their class."""
        return function(*map(_behind, values), **{name: _behind(value) for name, value in named.items()})

    @cached_property
    def _host(self) -> dict[str, str | None]:
        address = self._address
        labels = Host.objects.filter(uuid=address.name).values_list("label", flat=True) if address.name else ()
        location = urlsplit(address.location)
        return {
            "skerry.driver": address.driver,
            "skerry.host.id": address.name or None,
            "skerry.host.label": next(iter(labels), None),
            "server.address": location.hostname if location.scheme == "ssh" else None,
        }


def _behind(value: Any) -> Any:
    return value._driver if isinstance(value, _Traced) else value


def traced(driver: Driver, address: Address) -> Driver:
    """Return the driver with a span for each of its calls."""
    return cast(Driver, _Traced(driver, address))
