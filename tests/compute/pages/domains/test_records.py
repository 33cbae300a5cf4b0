"""The table of records: rows, filters, and editing in place, with htmx and without scripts."""

import re
from html import unescape
from urllib.parse import urlencode

import pytest

from accounts.models import Grant
from compute.filters.domains.records import RecordFilterSet, RecordListFilterSet
from compute.models import Domain, DomainRecord
from compute.pages.domains.record_form import FIELDS, FIELDS_OF_TYPE
from config.errors import Missing
from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.compute.pages.domains.zones import RECORDS, domain_with_records, last_event, restricted_on
from tests.compute.pages.visiting import HTMX, text_of
from tests.factories import DomainFactory, RecordFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def domain(account) -> Domain:
    return domain_with_records(account, label="example.com")


@pytest.fixture
def browser(owner):
    return signed_in(owner)


def records_of(domain: Domain) -> str:
    return f"/home/domains/{domain.pk}/records"


def edit(record: DomainRecord) -> str:
    return f"/home/domains/{record.domain_id}/records/{record.pk}/edit"


def form_values(page: str) -> dict[str, str]:
    """Return the fields of the form of a record as a browser would send them."""
    form = re.search(r"<form method=\"post\"[^>]*novalidate.*?</form>", page, re.DOTALL)[0]
    found = {}
    for tag in re.findall(r"<input [^>]*>", form):
        name, value = re.search(r' name="([^"]+)"', tag)[1], re.search(r' value="([^"]*)"', tag)
        found[name] = unescape(value[1]) if value else ""
    for name, options in re.findall(r'<select name="([^"]+)".*?>(.*?)</select>', form, re.DOTALL):
        chosen = re.search(r'value="([^"]*)" selected', options) or re.search(r'value="([^"]*)"', options)
        found[name] = chosen[1]
    for name, text in re.findall(r'<textarea name="([^"]+)"[^>]*>\n?(.*?)</textarea>', form, re.DOTALL):
        found[name] = unescape(text)
    return {name: value for name, value in found.items() if name in FIELDS}


class TestTable:
    def test_shows_the_values_of_each_type(self, browser, domain):
        page = text_of(browser.get(f"/home/domains/{domain.pk}"))
        for record in RECORDS:
            assert record["target"] in page
        for shown in ("priority 10", "port 5060, priority 20, weight 5", "issue", "1 hour", "_sip._tcp.play", "@"):
            assert shown in page

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("name=DMARC", ["_dmarc"]),
            ("type=MX", ["@"]),
            ("target=203.0.113", ["www"]),
            ("name=www&type=AAAA", ["www"]),
            ("type=SPF", []),
            ("name=none", []),
        ],
    )
    def test_has_filters(self, browser, domain, query, found):
        page = text_of(browser.get(f"/home/domains/{domain.pk}?{query}"))
        assert re.findall(r'<th scope="row">([^<]*)</th>', page) == found
        assert ("No records match" in page) is not found

    def test_filters_have_the_names_of_the_api(self):
        assert RecordListFilterSet.base_filters.keys() <= RecordFilterSet.base_filters.keys()

    def test_a_page_has_fifty_rows_and_a_fixed_number_of_queries(self, browser, account, django_assert_num_queries):
        domain = DomainFactory(account=account)
        RecordFactory.create_batch(120, domain=domain)
        # two of them begin and end the time limit of filters
        with django_assert_num_queries(8):
            page = text_of(browser.get(f"/home/domains/{domain.pk}?type=A&page=2"))
        assert page.count('<tr id="record-') == 50
        assert 'href="?type=A&amp;page=3"' in page

    def test_edit_and_delete_return_to_the_page_of_the_list(self, browser, domain):
        record = domain.records.get(type="A")
        page = text_of(browser.get(f"/home/domains/{domain.pk}?type=A"))
        address = unescape(re.search(r'<a class="btn btn-sm" href="([^"]+)"', page)[1])
        assert address == f"{edit(record)}?back=type%3DA"
        answer = browser.post(address, form_values(text_of(browser.get(address))))
        assert answer["Location"] == f"/home/domains/{domain.pk}?type=A"
        answer = browser.post(address.replace("/edit", "/delete"), follow=True)
        assert answer.redirect_chain == [(f"/home/domains/{domain.pk}?type=A", 302)]
        assert "The record www A 203.0.113.7 was deleted." in text_of(answer)
        assert not domain.records.filter(pk=record.pk).exists()
        assert last_event(domain) == "dns_record_delete"

    def test_the_way_back_leads_to_no_other_place(self, browser, domain):
        record = domain.records.get(type="A")
        answer = browser.post(
            f"{edit(record)}?back=//evil.example/", form_values(text_of(browser.get(edit(record))))
        )
        assert answer["Location"].startswith(f"/home/domains/{domain.pk}?")


class TestForms:
    def test_every_type_is_offered(self):
        assert FIELDS_OF_TYPE.keys() == set(DomainRecord.Type.values)

    @pytest.mark.parametrize("kind", [record["type"] for record in RECORDS])
    def test_saving_a_record_as_it_is_changes_nothing(self, browser, domain, kind):
        record = domain.records.get(type=kind)
        before, serial = DomainRecord.objects.filter(pk=record.pk).values().get(), domain.serial
        answer = browser.post(edit(record), form_values(text_of(browser.get(edit(record)))), follow=True)
        assert "was saved." in text_of(answer)
        assert DomainRecord.objects.filter(pk=record.pk).values().get() == before
        domain.refresh_from_db()
        assert domain.serial == serial

    @pytest.mark.parametrize(
        ("kind", "given", "kept"),
        [
            ("A", {"name": "WWW", "target": " 203.0.113.7 "}, {"name": "www", "target": "203.0.113.7"}),
            ("A", {"name": "me", "target": "[remote_addr]"}, {"target": "127.0.0.1"}),
            ("AAAA", {"name": "www", "target": "2001:db8::1", "ttl_sec": "300"}, {"ttl_sec": 300}),
            ("CNAME", {"name": "blog", "target": "web.example.net"}, {}),
            ("MX", {"name": "", "target": "mail.example.net", "priority": "20"}, {"priority": 20}),
            ("MX", {"name": "", "target": "", "priority": "0"}, {"target": ""}),
            ("TXT", {"name": "", "target": " two spaces  "}, {"target": " two spaces  "}),
            ("NS", {"name": "sub", "target": "ns1.example.net"}, {}),
            (
                "SRV",
                {"service": "sip", "protocol": "", "target": "sip", "priority": "1", "weight": "2", "port": "3"},
                {"name": "_sip._tcp", "protocol": None, "target": "sip.zone.example", "port": 3},
            ),
            ("CAA", {"tag": "iodef", "target": "mailto:a@example.com"}, {"tag": "iodef"}),
            ("PTR", {"name": "7", "target": "web.example.net"}, {}),
        ],
    )
    def test_a_record_of_each_type_is_added(self, browser, account, kind, given, kept):
        domain = DomainFactory(account=account, label="zone.example")
        page = f"{records_of(domain)}/new?type={kind}"
        shown = form_values(text_of(browser.get(page)))
        assert given.keys() <= shown.keys() == {"name", "target", "ttl_sec", *FIELDS_OF_TYPE[kind].others}
        answer = browser.post(page, {**shown, **given}, follow=True)
        assert "was added." in text_of(answer)
        made = domain.records.get()
        assert made.type == kind
        assert {name: getattr(made, name) for name in kept} == kept
        assert last_event(domain) == "dns_record_create"

    @pytest.mark.parametrize(
        ("kind", "given", "field", "reason"),
        [
            ("A", {"target": "x"}, "target", '"IPv4 address" must be an IPv4 address'),
            ("A", {"target": ""}, "target", '"IPv4 address" must be an IPv4 address'),
            ("A", {"name": "a b", "target": "203.0.113.7"}, "name", "Name is not valid"),
            ("A", {"name": "blog", "target": "203.0.113.7"}, "name", "This name has a CNAME record"),
            ("A", {"name": "x" * 101, "target": "203.0.113.7"}, "name", "100"),
            ("A", {"name": "x", "target": "203.0.113.7", "ttl_sec": "-1"}, "ttl_sec", ""),
            ("MX", {"target": "mail.example.net", "priority": ""}, "priority", ""),
            ("MX", {"target": "mail.example.net", "priority": "256"}, "priority", "255"),
            ("TXT", {"target": "a\nb"}, "target", "control characters"),
            ("TXT", {"target": "a\0b"}, "target", ""),
            ("SRV", {"service": "", "target": "a.example"}, "service", ""),
            ("SRV", {"service": "sip", "target": "a.example", "port": "x"}, "port", ""),
            ("CAA", {"tag": "x", "target": "a.example"}, "tag", ""),
            ("CAA", {"tag": "issue", "target": ""}, "target", "Authority must be the domain of an authority"),
        ],
    )
    def test_reasons_stand_at_their_fields(self, browser, domain, kind, given, field, reason):
        page = f"{records_of(domain)}/new?type={kind}"
        answer = browser.post(page, {**form_values(text_of(browser.get(page))), **given})
        assert problems(answer, field)
        assert reason in problems(answer, field)
        assert domain.records.count() == len(RECORDS)

    def test_an_empty_protocol_becomes_the_default(self, browser, domain):
        record = domain.records.get(type="SRV")
        assert form_values(text_of(browser.get(edit(record))))["name"] == "play"
        browser.post(
            edit(record), {**form_values(text_of(browser.get(edit(record)))), "protocol": "", "service": "x"}
        )
        record.refresh_from_db()
        assert (record.name, record.protocol) == ("_x._tcp.play", None)

    def test_an_edit_is_refused_at_its_field(self, browser, domain):
        record = domain.records.get(type="MX")
        answer = browser.post(edit(record), {"name": "", "target": "a b", "priority": ""})
        assert problems(answer, "target") == '"Mail server" must be a host name'
        assert problems(answer, "priority")

    def test_an_unknown_type_is_the_first_one(self, browser, domain):
        assert "IPv4 address" in text_of(browser.get(f"{records_of(domain)}/new?type=SPF"))

    def test_a_slave_takes_no_records(self, browser, account):
        slave = DomainFactory(account=account, type="slave", master_ips=["203.0.113.1"])
        page = f"{records_of(slave)}/new"
        reason = "A slave domain has the records of its masters, and none of its own."
        assert reason in text_of(browser.get(page))
        assert reason in text_of(browser.post(page, {"name": "www", "target": "203.0.113.7"}))
        assert page not in text_of(browser.get(f"/home/domains/{slave.pk}"))

    def test_a_full_domain_says_so(self, browser, domain, settings):
        settings.QUOTA_RECORDS = len(RECORDS)
        answer = browser.post(f"{records_of(domain)}/new", {"name": "one", "target": "203.0.113.7"})
        assert f"at most {len(RECORDS)} records" in text_of(answer)


class TestInPlace:
    """The answers for htmx are rows of the table."""

    def test_a_row_becomes_a_form_and_a_row_again(self, browser, domain):
        record = domain.records.get(type="A")
        form = text_of(browser.get(edit(record), headers=HTMX))
        assert form.startswith(f'<tr id="record-{record.pk}"')
        assert f'id="record-{record.pk}-target"' in form
        assert len(re.findall(" autofocus", form)) == 1
        row = text_of(browser.post(edit(record), {**form_values(form), "target": "203.0.113.8"}, headers=HTMX))
        assert row.startswith(f'<tr id="record-{record.pk}"')
        assert "203.0.113.8" in row
        assert "Saved" in row
        assert "<form method" in row, "the button that deletes the record"
        assert "was saved" not in text_of(browser.get(f"/home/domains/{domain.pk}")), "the row said so"

    def test_a_refusal_stays_in_the_row(self, browser, domain):
        record = domain.records.get(type="A")
        form = text_of(browser.post(edit(record), {"name": "www", "target": "x"}, headers=HTMX))
        assert form.startswith(f'<tr id="record-{record.pk}"')
        assert "must be an IPv4 address" in form
        assert re.search(r'name="target"[^>]* autofocus', form)

    def test_cancel_brings_the_row_back(self, browser, domain):
        record = domain.records.get(type="A")
        address = f"{records_of(domain)}/{record.pk}"
        row = text_of(browser.get(address, headers=HTMX))
        assert row.startswith(f'<tr id="record-{record.pk}"')
        assert "Saved" not in row
        assert browser.get(address)["Location"] == f"/home/domains/{domain.pk}"

    def test_a_new_row_comes_below_an_empty_form(self, browser, domain):
        page = f"{records_of(domain)}/new?type=TXT&back=type%3DTXT"
        form = text_of(browser.get(page, headers=HTMX))
        assert form.startswith('<tr id="new-record"')
        assert "type=MX&amp;back=type%3DTXT" in form
        rows = text_of(browser.post(page, {"name": "new", "target": "hello there"}, headers=HTMX))
        made = domain.records.get(name="new")
        assert re.findall(r'<tr id="([^"]+)"', rows) == ["new-record", f"record-{made.pk}"]
        assert "new TXT hello there was added." in rows
        assert form_values(rows)["target"] == ""

    def test_a_record_that_is_gone_leads_back_to_the_table(self, browser, domain):
        record = domain.records.get(type="A")
        DomainRecord.objects.filter(pk=record.pk).delete()
        table = f"/home/domains/{domain.pk}"
        for request in (browser.get, browser.post):
            assert request(edit(record), headers=HTMX)["HX-Redirect"] == table
            assert "The record does not exist any more." in text_of(browser.get(table))
        for page in (edit(record), f"{records_of(domain)}/{record.pk}/delete"):
            answer = browser.post(page, follow=True)
            assert answer.redirect_chain == [(table, 302)]
            assert "The record does not exist any more." in text_of(answer)
        assert browser.get(edit(record)).status_code == 404

    def test_a_record_that_goes_while_it_is_saved_leads_back_to_the_table(self, browser, domain, monkeypatch):
        def update(*given: object) -> None:
            raise Missing

        monkeypatch.setattr("compute.services.domains.records.update", update)
        record = domain.records.get(type="A")
        answer = browser.post(edit(record), {"name": "www", "target": "203.0.113.8"}, follow=True)
        assert "The record does not exist any more." in text_of(answer)

    def test_a_domain_that_goes_with_its_record_leads_back_to_the_list(self, browser, domain, monkeypatch):
        def update(*given: object) -> None:
            domain.delete()
            raise Missing

        monkeypatch.setattr("compute.services.domains.records.update", update)
        record = domain.records.get(type="A")
        answer = browser.post(edit(record), {"name": "www", "target": "203.0.113.8"}, follow=True)
        assert answer.redirect_chain == [("/home/domains", 302)]
        assert f"{domain} does not exist any more." in text_of(answer)

    def test_a_user_who_loses_the_grant_meanwhile_finds_nothing(self, domain, monkeypatch):
        browser = restricted_on(domain, "read_write")

        def update(*given: object) -> None:
            Grant.objects.all().delete()
            raise Missing

        monkeypatch.setattr("compute.services.domains.records.update", update)
        record = domain.records.get(type="A")
        given = {"name": "www", "target": "203.0.113.8"}
        assert browser.post(edit(record), given).status_code == 404

    @pytest.mark.parametrize("parameters", [1, 200, 5000])
    def test_the_query_of_the_list_is_bounded(self, browser, domain, parameters):
        back = urlencode({"back": "type=A&" * parameters})
        assert browser.get(f"{edit(domain.records.get(type='A'))}?{back}").status_code == 200


def test_records_of_other_domains_do_not_exist(browser, account, domain, stranger):
    other = DomainFactory(account=account)
    record = domain.records.first()
    for page in ("", "/edit"):
        assert browser.get(f"{records_of(other)}/{record.pk}{page}").status_code == 404
        assert signed_in(stranger).get(f"{records_of(domain)}/{record.pk}{page}").status_code == 404
    assert browser.post(f"{records_of(other)}/{record.pk}/delete")["Location"] == f"/home/domains/{other.pk}"
    assert domain.records.count() == len(RECORDS)


def test_a_user_who_may_only_read_changes_no_record(domain):
    browser, record = restricted_on(domain, "read_only"), domain.records.first()
    assert browser.get(edit(record)).status_code == 403
    assert browser.post(edit(record), {"target": "203.0.113.8"}).status_code == 403
    assert browser.post(f"{records_of(domain)}/{record.pk}/delete").status_code == 403
    assert browser.post(f"{records_of(domain)}/new", {"target": "203.0.113.8"}).status_code == 403
    row = text_of(browser.get(f"{records_of(domain)}/{record.pk}", headers=HTMX))
    assert "/edit" not in row
