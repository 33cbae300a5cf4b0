"""The list of domains: rows, filters, and who sees which verbs."""

import re
from html import unescape

import pytest

from accounts.models import GlobalGrants
from compute.filters.domains.domains import DomainFilterSet, DomainListFilterSet
from tests.compute.at_consoles import signed_in
from tests.compute.pages.domains.zones import RECORDS, domain_with_records
from tests.compute.pages.visiting import text_of
from tests.factories import DomainFactory, GrantFactory

pytestmark = pytest.mark.django_db

LIST = "/home/domains"


def names(answer) -> list[str]:
    return re.findall(r'<th scope="row"><a href="[^"]+">([^<]*)', unescape(text_of(answer)))


def test_rows_show_type_status_tags_and_number_of_records(owner, account):
    domain_with_records(account, label="one.example", tags=["blue"], description="our shop")
    DomainFactory(account=account, label="two.example", type="slave", master_ips=["203.0.113.1"], status="disabled")
    DomainFactory(label="theirs.example")
    page = signed_in(owner).get(LIST)
    assert names(page) == ["one.example", "two.example"]
    for shown in ("our shop", f"<span>{len(RECORDS)}</span>", "of its masters", "disabled", "?tags=blue", "slave"):
        assert shown in text_of(page)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("domain=MÜN", []),
        ("domain=M%C3%BCnchen.example", ["xn--mnchen-3ya.example"]),
        ("domain=xn--", ["xn--mnchen-3ya.example"]),
        ("type=slave", ["b.example"]),
        ("status=disabled", ["b.example"]),
        ("tags=web", ["xn--mnchen-3ya.example"]),
        ("order=-domain", ["xn--mnchen-3ya.example", "b.example"]),
    ],
)
def test_filters_and_order_are_in_the_address(owner, account, query, found):
    DomainFactory(account=account, label="b.example", type="slave", master_ips=["203.0.113.1"], status="disabled")
    DomainFactory(account=account, label="xn--mnchen-3ya.example", tags=["web"])
    assert names(signed_in(owner).get(f"{LIST}?{query}")) == found


def test_filters_have_the_names_of_the_api():
    assert DomainListFilterSet.base_filters.keys() - DomainFilterSet.base_filters.keys() == {"type", "status"}


def test_an_empty_list_offers_a_domain_to_those_who_may_add_one(owner, restricted):
    assert "You have no domains yet." in text_of(signed_in(owner).get(LIST))
    assert "/home/domains/new" not in text_of(signed_in(restricted).get(LIST))
    GlobalGrants.objects.filter(user=restricted).update(add_domains=True)
    assert "/home/domains/new" in text_of(signed_in(restricted).get(LIST))


def test_verbs_are_for_users_who_may_change_the_domain(restricted, account):
    seen, writable, _ = (DomainFactory(account=account) for _ in range(3))
    GrantFactory(user=restricted, entity_type="domain", entity_id=seen.pk)
    GrantFactory(user=restricted, entity_type="domain", entity_id=writable.pk, permissions="read_write")
    page = signed_in(restricted).get(LIST)
    assert names(page) == [seen.label, writable.label]
    assert re.findall(r'href="/home/domains/(\d+)/delete"', text_of(page)) == [str(writable.pk)]


def test_the_search_leads_to_the_domain(owner, account):
    domain = DomainFactory(account=account, label="shop.example")
    assert f'href="/home/domains/{domain.pk}"' in text_of(signed_in(owner).get("/home/search?q=shop"))
