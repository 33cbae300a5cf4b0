"""The pages of usage: a month by kind and resource, statements, the file, and the mails."""

import csv
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import Event, GlobalGrants
from compute.models import UsageInterval, UsageSettings, UsageStatement
from compute.services.usage import statements
from compute.services.usage.export import COLUMNS
from compute.services.usage.preferences import WRONG_THRESHOLD
from tests.accounts.pages.browsers import careful, problems
from tests.accounts.signing_in import words
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import backup_of
from tests.compute.pages.visiting import text_of
from tests.compute.services.usage.playing import DECEMBER, NOVEMBER, OCTOBER, Clock, usage_clock, used
from tests.factories import GrantFactory, ImageFactory, InstanceFactory, NodeBalancerFactory, VolumeFactory

pytestmark = pytest.mark.django_db

__all__ = ["usage_clock"]

PAGE = "/home/usage"
HOUR = timedelta(hours=1)
MIDDLE = NOVEMBER.replace(day=20)


@pytest.fixture
def browser(owner) -> Client:
    return signed_in(owner)


class TestAMonth:
    def test_amounts_stand_by_kind_and_resource_with_units(self, account, browser, usage_clock: Clock):
        usage_clock.move(MIDDLE)
        used(
            account, MIDDLE - 10 * HOUR, kind="compute", resource=7, label="web-1", region="us-test", type="g6-two"
        )
        used(account, MIDDLE - 30.5 * HOUR, kind="volume", quantity="40", hourly="0.0001", label="films")
        used(account, MIDDLE - 10 * HOUR, kind="extra_ipv4", resource=account.pk, quantity="2", hourly="0.003")
        page = words(browser.get(PAGE))
        for shown in (
            "November 2026",
            "$0.28 so far This amount is preliminary: it changes until the statement",
            "Volumes $0.1220",
            "films volume – 30.50 40 GB $0.1220",
            "web-1 g6-two instance us-test 10 1 $0.1000",
            "Extra IPv4 addresses extra IPv4 addresses – 10 2 addresses $0.0600",
        ):
            assert shown in page
        assert page.index("films volume") < page.index("web-1 g6-two") < page.index("10 2 addresses")
        UsageInterval.objects.filter(kind="extra_ipv4").update(quantity=1)
        assert "10 1 address $0.0300" in words(browser.get(PAGE))

    def test_a_month_that_is_over_shows_its_statement(self, account, browser, usage_clock: Clock):
        used(account, NOVEMBER, DECEMBER, label="films")
        usage_clock.move(DECEMBER + HOUR)
        assert statements.freeze_due() == 1
        page = words(browser.get(f"{PAGE}/2026-11"))
        assert "$7.20 This is the final statement." in page
        assert "films volume – 720 1 GB $7.2000" in page
        assert browser.get(PAGE, {"month": "2026-11"})["Location"] == f"{PAGE}/2026-11"
        assert '<option value="2026-11">November 2026</option>' in text_of(browser.get(PAGE))

    def test_the_month_before_can_be_chosen_before_its_statement(self, account, browser, usage_clock: Clock):
        used(account, NOVEMBER)
        usage_clock.move(DECEMBER + HOUR / 2)
        assert '<option value="2026-11">' in text_of(browser.get(PAGE))
        assert "$7.20 This amount is preliminary" in words(browser.get(f"{PAGE}/2026-11"))

    def test_an_account_without_usage_gets_an_explanation(self, browser):
        page = words(browser.get(PAGE))
        assert "$0.00 so far" in page
        assert "Nothing was used in this month so far." in page
        assert "Download CSV" not in page

    @pytest.mark.parametrize("month", ["2027-01", "2026-13", "2026-00", "0000-01", "26-11", "now", "2026-1"])
    def test_other_months_do_not_exist(self, browser, usage_clock: Clock, month):
        assert browser.get(f"{PAGE}/{month}").status_code == 404
        assert browser.get(f"{PAGE}/{month}/csv").status_code == 404
        assert browser.get(PAGE, {"month": month}, follow=True).status_code in (200, 404)

    def test_resources_have_pages(self, account, browser, usage_clock: Clock):
        usage_clock.move(MIDDLE)
        for number in range(51):
            used(account, MIDDLE - (number + 1) * HOUR, resource=number, label=f"films-{number}")
        first = text_of(browser.get(PAGE))
        assert "films-50<" in first
        assert "films-0<" not in first
        assert "1 to 50 of 51" in first
        for page in ("2", "3", "99999999"):
            shown = text_of(browser.get(PAGE, {"page": page}))
            assert "films-0<" in shown
            assert "films-50<" not in shown


class TestLinks:
    @pytest.fixture
    def pages(self, account, usage_clock: Clock) -> dict[str, str]:
        """Use resources that have pages, and return the pages by label."""
        usage_clock.move(MIDDLE)
        instance = InstanceFactory(account=account, label="web-1")
        volume, backup = VolumeFactory(account=account, instance=instance), backup_of(instance)
        free, balancer = VolumeFactory(account=account), NodeBalancerFactory(account=account)
        image = ImageFactory(account=account, is_public=False, id="private/3", number=3)
        path = f"/home/instances/{instance.pk}"
        pages = {
            "web-1": ("compute", instance.pk, path),
            "its backups": ("compute_backups", instance.pk, f"{path}/backups"),
            "films": ("volume", volume.pk, f"{path}/storage"),
            "snapshot": ("backup", backup.pk, f"{path}/backups"),
            "free": ("volume", free.pk, f"/home/volumes/{free.pk}"),
            "golden": ("image", image.number, f"/home/images/{image.pk}"),
            "web": ("nodebalancer", balancer.pk, f"/home/load-balancers/{balancer.pk}"),
            "gone": ("compute", instance.pk + 1, ""),
            "gone image": ("image", image.number + 1, ""),
        }
        for label, (kind, key, _) in pages.items():
            used(account, MIDDLE - HOUR, kind=kind, resource=key, label=label)
        return {label: address for label, (_, _, address) in pages.items()}

    def shown(self, browser: Client, label: str, address: str) -> bool:
        link = f'<a href="{address}">{label}</a>' if address else f"<strong>{label}</strong>"
        return link in text_of(browser.get(PAGE))

    def test_resources_lead_to_their_pages(self, browser, pages):
        assert [label for label, address in pages.items() if not self.shown(browser, label, address)] == []

    def test_more_resources_need_no_more_queries(self, account, browser, pages):
        def count() -> int:
            with CaptureQueriesContext(connection) as queries:
                browser.get(PAGE)
            return len(queries)

        few = count()
        for number in (2, 3):
            volume, balancer = VolumeFactory(account=account), NodeBalancerFactory(account=account)
            used(account, MIDDLE - HOUR, kind="volume", resource=volume.pk, label=f"films-{number}")
            used(account, MIDDLE - HOUR, kind="nodebalancer", resource=balancer.pk, label=f"web-{number}")
        assert count() == few

    def test_a_restricted_user_gets_links_to_visible_resources(self, restricted, pages):
        browser = signed_in(restricted)
        assert [label for label in pages if not self.shown(browser, label, "")] == []
        for kind, label in (("compute", "web-1"), ("volume", "free"), ("image", "golden"), ("nodebalancer", "web")):
            key = int(pages[label].rpartition("/")[2])
            GrantFactory(user=restricted, entity_type=kind, entity_id=key)
        assert [label for label, address in pages.items() if not self.shown(browser, label, address)] == []


class TestStatements:
    def test_they_are_listed_newest_first(self, account, stranger, browser):
        assert "There are no statements yet." in words(browser.get(f"{PAGE}/statements"))
        UsageStatement.objects.create(account=account, month=OCTOBER.date(), total=12, lines=[])
        UsageStatement.objects.create(account=account, month=NOVEMBER.date(), total="1234.5", lines=[])
        UsageStatement.objects.create(account=stranger.account, month=NOVEMBER.date(), total=99, lines=[])
        page = words(browser.get(f"{PAGE}/statements"))
        assert page.index("November 2026") < page.index("$1,234.50") < page.index("October 2026")
        assert "$99.00" not in page

    def test_a_file_has_the_lines_without_formulas(self, account, stranger, browser, usage_clock: Clock):
        used(account, NOVEMBER, kind="compute", label="=1+1", type="g6")
        used(stranger.account, NOVEMBER, resource=2, label="secret")
        for state in ("preliminary", "final"):
            answer = browser.get(f"{PAGE}/2026-11/csv")
            assert answer["Content-Type"] == "text/csv; charset=utf-8"
            assert answer["Content-Disposition"] == 'attachment; filename="usage-2026-11.csv"'
            head, line = csv.reader(answer.content.decode().splitlines())
            assert tuple(head) == COLUMNS
            values = dict(zip(head, line, strict=True))
            assert (values["label"], values["hours"], values["amount"], values["state"]) == (
                "'=1+1", "720.000000", "7.2000", state,
            )  # fmt: skip
            statements.freeze(account.pk, NOVEMBER.date())


class TestSettings:
    PAGE = f"{PAGE}/settings"

    def test_they_are_saved_and_shown(self, account, browser):
        answer = browser.post(self.PAGE, {"mail_statements": "on", "threshold": "25"}, follow=True)
        page = text_of(answer)
        assert "The settings were saved." in page
        assert 'value="25.00"' in page
        assert " checked" in page
        assert f"Mails go to the account's address, {account.email}." in page
        assert Event.objects.get().action == "account_settings_update"
        browser.post(self.PAGE, {"threshold": ""})
        assert UsageSettings.objects.values_list("mail_statements", "threshold").get() == (False, None)

    def test_a_wrong_threshold_stays_in_the_form_with_the_reason(self, browser):
        answer = browser.post(self.PAGE, {"mail_statements": "on", "threshold": "a lot"})
        assert problems(answer, "threshold") == WRONG_THRESHOLD
        assert 'value="a lot"' in text_of(answer)
        assert not UsageSettings.objects.exists()

    def test_the_form_needs_the_page_s_own_token(self, browser):
        assert careful(browser).post(self.PAGE, {"threshold": "1"}).status_code == 403


PAGES = (PAGE, f"{PAGE}/2026-01", f"{PAGE}/2026-01/csv", f"{PAGE}/statements", f"{PAGE}/settings")


class TestAccess:
    @pytest.mark.parametrize(
        ("access", "statuses"),
        [(None, [403] * 5), ("read_only", [200] * 4 + [403]), ("read_write", [200] * 5)],
    )
    def test_a_restricted_user_needs_access_to_the_account(self, restricted, access, statuses):
        GlobalGrants.objects.filter(user=restricted).update(account_access=access)
        browser = signed_in(restricted)
        assert [browser.get(page).status_code for page in PAGES] == statuses
        assert (browser.post(PAGES[-1], {"threshold": "1"}).status_code == 302) == (access == "read_write")
        assert (f'href="{PAGE}"' in text_of(browser.get("/home"))) == (access is not None)
        if access:
            assert (f'href="{PAGES[-1]}"' in text_of(browser.get(PAGE))) == (access == "read_write")

    def test_nobody_signs_in_first(self, client):
        assert all(client.get(page)["Location"].startswith("/login?") for page in PAGES)
