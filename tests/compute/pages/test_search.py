"""The search of the pages: its results for each user."""

import pytest

from compute.models import IPv6Range
from tests.compute.at_consoles import signed_in
from tests.factories import (
    AddressPoolFactory,
    DomainFactory,
    GlobalGrantsFactory,
    GrantFactory,
    InstanceFactory,
    ServiceFactory,
    TicketFactory,
    UserFactory,
    VolumeFactory,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def web(account):
    return InstanceFactory(
        account=account, label="web-1", ipv4=["198.18.0.7"], ipv6="2001:db8::7/128", tags=["shop"]
    )


@pytest.mark.parametrize("words", ["WEB", "eb-1", "198.18.0.7", "2001:db8::7", "shop"])
def test_an_instance_is_found_by_label_address_and_tag(owner, web, words):
    page = signed_in(owner).get("/home/search", {"q": words}).content.decode()
    assert f'<a href="/home/instances/{web.pk}">web-1</a>' in page


def test_an_instance_is_found_by_its_id(owner, web):
    assert "web-1" in signed_in(owner).get(f"/home/search?q={web.pk}").content.decode()


def test_every_noun_is_searched(owner, account, web):
    VolumeFactory(account=account, label="web-data")
    DomainFactory(account=account, label="web.example")
    page = signed_in(owner).get("/home/search?q=web").content.decode()
    assert [noun in page for noun in ("web-1", "web-data", "web.example")] == [True] * 3


def test_others_objects_are_not_found(stranger, restricted, account, web):
    for user in (stranger, restricted):
        assert "Nothing was found" in signed_in(user).get("/home/search?q=web").content.decode()
    GrantFactory(user=restricted, entity_id=web.pk)
    assert "web-1" in signed_in(restricted).get("/home/search?q=web").content.decode()


def found(user, words: str) -> list[str]:
    """Return the addresses of the results."""
    groups = signed_in(user).get("/home/search", {"q": words}).context["found"]
    return [address for group in groups for _, address in group.objects]


def test_users_tickets_and_services_are_found(owner, account, stranger):
    ticket = TicketFactory(account=account, summary="The kari machine is dark")
    TicketFactory(account=stranger.account, summary="kari again")
    kari = UserFactory(account=account, username="kari")
    service = ServiceFactory(account=account, label="kari-web")
    assert found(owner, "KARI") == [
        f"/home/monitoring/{service.pk}", f"/home/tickets/{ticket.pk}", f"/home/users/{kari.pk}"
    ]  # fmt: skip
    assert f"/home/tickets/{ticket.pk}" in found(owner, str(ticket.pk))
    assert found(owner, kari.email) == [f"/home/users/{kari.pk}"]


def test_a_restricted_user_finds_only_granted_objects(account):
    TicketFactory(account=account, summary="kari is dark")
    UserFactory(account=account, username="kari")
    ServiceFactory(account=account, label="kari-web")
    reader, nobody = (
        GlobalGrantsFactory(user__account=account, account_access=level).user for level in ("read_only", None)
    )
    assert [address.split("/")[2] for address in found(reader, "kari")] == ["tickets"]
    assert found(nobody, "kari") == []


@pytest.mark.parametrize("words", ["2001:db8:5::/64", "2001:DB8:5::", "2001:0db8:0005::0", "db8:5"])
def test_ipv6_ranges_are_found_in_any_notation(owner, restricted, account, words):
    instance = InstanceFactory(account=account)
    pool = AddressPoolFactory(region=instance.region)
    IPv6Range.objects.create(
        account=account, region=instance.region, pool=pool, range="2001:db8:5::", prefix=64, instance=instance
    )
    assert found(owner, words) == ["/home/addresses/ranges?range=2001%3Adb8%3A5%3A%3A"]
    assert "2001:db8:5::/64" in signed_in(owner).get(found(owner, words)[0]).content.decode()
    assert found(restricted, words) == []


@pytest.mark.parametrize("words", ["", "%00", "%", "9" * 30, "x" * 500, "'\"<>"])
def test_odd_words_are_no_error(owner, web, words):
    assert signed_in(owner).get("/home/search", {"q": words}).status_code == 200


def test_a_long_result_says_that_there_is_more(owner, account):
    InstanceFactory.create_batch(12, account=account)
    page = signed_in(owner).get("/home/search?q=instance").content.decode()
    assert page.count("/home/instances/") == 10
    assert "There are more." in page
