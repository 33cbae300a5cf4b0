"""The cast of managed: an account that has enabled it, and names that stand for something."""

import ipaddress
from collections.abc import Callable

import pytest

from accounts.models import Account
from config.egress import resolver


@pytest.fixture
def account(account) -> Account:
    """The account of the cast, with managed enabled."""
    account.managed = True
    account.save(update_fields=["managed"])
    return account


@pytest.fixture
def name_is(monkeypatch) -> Callable[..., None]:
    """Let a name stand for addresses: ``name_is("web.example.com", "203.0.113.7")``."""
    known: dict[str, list[str]] = {}

    def resolve(host: str) -> list[resolver.Address]:
        if host not in known:
            raise resolver.Unresolved(f"the name {host} was not found")
        return [ipaddress.ip_address(address) for address in known[host]]

    monkeypatch.setattr(resolver, "resolve", resolve)
    return lambda host, *addresses: known.__setitem__(host, list(addresses))
