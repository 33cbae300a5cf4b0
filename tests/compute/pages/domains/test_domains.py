"""The pages of one domain besides its records: settings, zone file, activity, clone and delete."""

import pytest

from compute.models import Domain
from config.limits import rates
from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.compute.pages.domains.zones import RECORDS, domain_with_records, last_event, restricted_on
from tests.compute.pages.visiting import text_of
from tests.factories import DomainFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def domain(account) -> Domain:
    return domain_with_records(account, label="example.com", spelling="Example.com", tags=["web"])


@pytest.fixture
def browser(owner):
    return signed_in(owner)


def settings_of(saved: Domain, /, **changes: str) -> dict[str, str]:
    """Return the fields of the form as the page shows them, with changes."""
    return {
        "domain": saved.spelling, "status": "active", "type": "master", "soa_email": saved.soa_email, "tags": "web",
        "ttl_sec": "0", "refresh_sec": "0", "retry_sec": "0", "expire_sec": "0", **changes,
    }  # fmt: skip


class TestSettings:
    def test_are_saved(self, browser, domain):
        page = f"/home/domains/{domain.pk}/settings"
        assert 'value="Example.com"' in text_of(browser.get(page))
        given = settings_of(
            domain, status="disabled", description="our shop", group="shops", tags="web, blue",
            axfr_ips="203.0.113.1", ttl_sec="3600", expire_sec="604800",
        )  # fmt: skip
        answer = browser.post(page, given, follow=True)
        assert "The settings were saved." in text_of(answer)
        domain.refresh_from_db()
        assert (domain.status, domain.description, domain.group) == ("disabled", "our shop", "shops")
        assert (domain.axfr_ips, domain.ttl_sec, domain.expire_sec) == (["203.0.113.1"], 3600, 604800)
        assert sorted(domain.tags) == ["blue", "web"]
        assert (domain.label, domain.spelling) == ("example.com", "Example.com")
        assert last_event(domain) == "dns_zone_update"

    def test_without_a_change_nothing_happens(self, browser, domain):
        serial = domain.serial
        browser.post(f"/home/domains/{domain.pk}/settings", settings_of(domain))
        domain.refresh_from_db()
        assert domain.serial == serial

    def test_empty_fields_empty_the_values(self, browser, domain):
        Domain.objects.update(axfr_ips=["203.0.113.1"], description="old")
        browser.post(f"/home/domains/{domain.pk}/settings", settings_of(domain, tags=""))
        domain.refresh_from_db()
        assert (domain.axfr_ips, domain.description, domain.tags) == ([], "", [])

    @pytest.mark.parametrize(
        ("changes", "field", "reason"),
        [
            ({"domain": ""}, "domain", ""),
            ({"domain": "co.uk"}, "domain", "This is a public suffix: anybody can register names below it."),
            (
                {"soa_email": ""},
                "soa_email",
                '"Email of the administrator" is required for a domain of the type master.',
            ),
            ({"axfr_ips": "x"}, "axfr_ips", ""),
            ({"ttl_sec": "x"}, "ttl_sec", ""),
            ({"type": "slave", "master_ips": "203.0.113.1"}, "type", "A domain with records cannot be a slave"),
            ({"type": "slave"}, "master_ips", "You need at least one master DNS server IP address"),
            ({"status": "x"}, "status", ""),
            ({"description": "x" * 256}, "description", "255"),
            ({"group": "a\0b"}, "group", ""),
        ],
    )
    def test_reasons_stand_at_their_fields(self, browser, domain, changes, field, reason):
        answer = browser.post(f"/home/domains/{domain.pk}/settings", settings_of(domain, **changes))
        assert problems(answer, field)
        assert reason in problems(answer, field)
        domain.refresh_from_db()
        assert domain.status == "active"

    def test_restricted_users_have_no_tags(self, domain):
        browser = restricted_on(domain, "read_write")
        assert 'name="tags"' not in text_of(browser.get(f"/home/domains/{domain.pk}/settings"))
        browser.post(f"/home/domains/{domain.pk}/settings", settings_of(domain, tags="sneaked", group="g"))
        domain.refresh_from_db()
        assert (domain.group, domain.tags) == ("g", ["web"])


class TestZoneFile:
    def test_is_shown_and_downloaded(self, browser, domain):
        page = f"/home/domains/{domain.pk}/zone-file"
        assert "www IN A 203.0.113.7" in text_of(browser.get(page))
        file = browser.get(f"{page}/download")
        assert file["Content-Disposition"] == 'attachment; filename="example.com.zone"'
        assert "www IN A 203.0.113.7\n" in file.getvalue().decode()

    def test_is_refused_after_much_work(self, browser, domain, monkeypatch):
        meter = rates.limits().meter
        monkeypatch.setattr(meter, "most", 1)
        meter.charge(f"account:{domain.account_id}", 5)
        answer = browser.get(f"/home/domains/{domain.pk}/zone-file")
        assert answer.status_code == 429
        assert int(answer["Retry-After"]) > 0
        assert "203.0.113.7" not in answer.content.decode()


class TestClone:
    def test_makes_another_domain(self, browser, domain):
        answer = browser.post(f"/home/domains/{domain.pk}/clone", {"domain": "example.net"}, follow=True)
        made = Domain.objects.get(label="example.net")
        assert made.records.count() == len(RECORDS)
        assert made.tags == ["web"]
        assert "The domain example.com was cloned into example.net." in text_of(answer)
        assert answer.redirect_chain[-1][0] == f"/home/domains/{made.pk}"

    @pytest.mark.parametrize("name", ["", "example", "example.com"])
    def test_a_reason_stands_at_the_name(self, browser, domain, name):
        assert problems(browser.post(f"/home/domains/{domain.pk}/clone", {"domain": name}), "domain")


def test_deleting_names_the_number_of_records(browser, domain):
    page = f"/home/domains/{domain.pk}/delete"
    assert f"with its {len(RECORDS)} records" in text_of(browser.get(page))
    answer = browser.post(page, follow=True)
    assert "The domain example.com was deleted." in text_of(answer)
    assert not Domain.objects.exists()
    assert last_event(domain) == "dns_zone_delete"


PAGES = ("", "/zone-file", "/zone-file/download", "/activity", "/settings", "/clone", "/delete", "/records/new")
OF_READERS = PAGES[:4]


def test_a_user_who_may_only_read_has_no_verbs(domain):
    browser = restricted_on(domain, "read_only")
    for page in PAGES:
        status = browser.get(f"/home/domains/{domain.pk}{page}").status_code
        assert status == (200 if page in OF_READERS else 403), page
    shown = text_of(browser.get(f"/home/domains/{domain.pk}"))
    for verb in ("/settings", "/clone", "/delete", "/edit", "/records/new"):
        assert verb not in shown


def test_domains_of_others_do_not_exist(stranger, restricted, domain):
    for user in (stranger, restricted):
        for page in PAGES:
            assert signed_in(user).get(f"/home/domains/{domain.pk}{page}").status_code == 404


def test_a_problem_of_the_domain_is_shown(browser, account):
    domain = DomainFactory(account=account, errors="The platform does not ask 10.0.0.1.")
    assert "The platform does not ask 10.0.0.1." in text_of(browser.get(f"/home/domains/{domain.pk}"))
