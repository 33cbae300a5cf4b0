"""Statistics of all computes of the account together."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from tests.factories import InstanceFactory
from tests.managed.one_of_each import sample

pytestmark = pytest.mark.django_db


def test_the_samples_of_a_day_are_summed_over_the_computes(api, account, django_assert_num_queries):
    one, two, other = InstanceFactory(account=account), InstanceFactory(account=account), InstanceFactory()
    at = now().replace(microsecond=0) - timedelta(hours=1)
    sample(one, at, cpu=10.4, io=3, swap=1, v4_in=100, v6_in=20, v4_private_in=5, v4_out=7)
    sample(two, at, cpu=20.2, io=4, v6_out=9, v6_private_out=1)
    sample(other, at, cpu=99)
    sample(one, at + timedelta(minutes=5), cpu=1)
    sample(one, at - timedelta(hours=24), cpu=1)
    with django_assert_num_queries(3):  # the caller, whether managed is enabled, the sums
        data = api.get("/v4/managed/stats").json()["data"]
    x = int(at.timestamp()) * 1000
    assert data["cpu"] == [{"x": x, "y": 31}, {"x": x + 300_000, "y": 1}]
    first = {name: points[0]["y"] for name, points in data.items()}
    assert first == {"cpu": 31, "disk": 7, "swap": 1, "net_in": 125, "net_out": 17}


def test_without_any_the_charts_are_empty(api, account):
    data = api.get("/v4/managed/stats").json()["data"]
    assert data == {"cpu": [], "disk": [], "swap": [], "net_in": [], "net_out": []}
