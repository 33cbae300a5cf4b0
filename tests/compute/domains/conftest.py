"""A domain, and the one who owns it."""

import pytest

from compute.models import Domain
from tests.factories import DomainFactory


@pytest.fixture
def api(client_for, owner):
    return client_for(owner)


@pytest.fixture
def domain(account) -> Domain:
    return DomainFactory(account=account, label="example.com")


@pytest.fixture
def records(domain) -> str:
    """The path of the domain's records."""
    return f"/v4/domains/{domain.pk}/records"
