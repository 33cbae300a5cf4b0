"""The search of the pages: its results for each user."""

import pytest

from tests.compute.at_consoles import signed_in
from tests.factories import DomainFactory, GrantFactory, InstanceFactory, VolumeFactory

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


@pytest.mark.parametrize("words", ["", "%00", "%", "9" * 30, "x" * 500, "'\"<>"])
def test_odd_words_are_no_error(owner, web, words):
    assert signed_in(owner).get("/home/search", {"q": words}).status_code == 200


def test_a_long_result_says_that_there_is_more(owner, account):
    InstanceFactory.create_batch(12, account=account)
    page = signed_in(owner).get("/home/search?q=instance").content.decode()
    assert page.count("/home/instances/") == 10
    assert "There are more." in page
