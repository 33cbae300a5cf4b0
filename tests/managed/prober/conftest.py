"""Fixtures for tests of single checks."""

import pytest

from config.egress import resolver
from tests.managed.servers import NameServer

TIMEOUT_SECONDS = 120
"""Seconds for a lookup that takes a moment, however busy this machine is."""


@pytest.fixture
def dns(settings, monkeypatch):
    """A name server, which is asked once and waited for; where it says nothing, a test sets another timeout."""

    def patient():
        resolver = resolver_of_settings()
        resolver.timeout = TIMEOUT_SECONDS
        return resolver

    resolver_of_settings = resolver._resolver
    monkeypatch.setattr(resolver, "_resolver", patient)
    monkeypatch.setattr(resolver, "GRACE", TIMEOUT_SECONDS)
    settings.PROBE_DNS_TIMEOUT = TIMEOUT_SECONDS
    with NameServer() as server:
        settings.PROBE_NAMESERVERS = [server.setting]
        yield server
