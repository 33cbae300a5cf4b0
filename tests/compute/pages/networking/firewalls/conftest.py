import pytest
from django.test import Client

from compute.models import Firewall, Instance
from tests.compute.at_consoles import signed_in
from tests.factories import FirewallFactory, InstanceFactory


@pytest.fixture
def instance(account) -> Instance:
    return InstanceFactory(account=account, label="web-1")


@pytest.fixture
def firewall(account, instance) -> Firewall:
    return FirewallFactory(account=account, label="edge", on=instance)


@pytest.fixture
def browser(owner) -> Client:
    return signed_in(owner)
