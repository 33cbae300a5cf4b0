"""The API of regions."""

import pytest

from regions.models import Region


@pytest.fixture
def region(db) -> Region:
    return Region.objects.create(
        id="us-east", country="us", capabilities=["Computes", "Vlans"],
        resolvers_ipv4="198.51.100.13,198.51.100.14", resolvers_ipv6="2001:db8:7::53",
    )  # fmt: skip


BODY = {
    "id": "us-east",
    "country": "us",
    "capabilities": ["Computes", "Vlans"],
    "status": "ok",
    "resolvers": {"ipv4": "198.51.100.13,198.51.100.14", "ipv6": "2001:db8:7::53"},
}


def test_anyone_reads_regions(region, client):
    assert client.get("/v4/regions").json() == {"data": [BODY], "page": 1, "pages": 1, "results": 1}
    assert client.get("/v4/regions/us-east").json() == BODY


def test_an_unknown_region_is_not_found(region, client):
    assert client.get("/v4/regions/us-west").status_code == 404


def test_regions_may_be_cached_for_a_quarter_of_an_hour(region, client):
    assert "max-age=900" in client.get("/v4/regions/us-east")["Cache-Control"]
