"""Fixtures for tests of single checks."""

import pytest

from config.egress import resolver
from tests.managed.servers import NameServer

TIMEOUT_SECONDS = 120
"""Seconds for a look-up that takes a moment, even on a busy machine."""


@pytest.fixture
def dns(settings, monkeypatch):
    """A name server, which is asked once, with a long timeout. A test of a silent one sets another timeout."""

    def patient():
        resolver = resolver_of_settings()
        resolver.timeout = TIMEOUT_SECONDS
        return resolver

    resolver_of_settings = resolver._resolver
    monkeypatch.setattr(resolver, "_resolver", patient)
    monkeypatch.setattr(resolver, "GRACE_SECONDS", TIMEOUT_SECONDS)
    settings.PROBE_DNS_TIMEOUT = TIMEOUT_SECONDS
    with NameServer() as server:
        settings.PROBE_NAMESERVERS = [server.setting]
        yield server
