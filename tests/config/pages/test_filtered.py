"""Lists whose filters take too long."""

from collections.abc import Iterator

import pytest
from django.db import connection
from django.db.models import CharField, Func, Value

from compute.models import Volume
from compute.pages.volumes.volume_list import VolumesView
from config.limits import rates
from config.limits.metering import Meter
from config.pages.filtered import TOO_SLOW
from tests.accounts.signing_in import words
from tests.compute.at_consoles import signed_in
from tests.compute.pages.visiting import HTMX
from tests.factories import VolumeFactory

PAGE = "/home/volumes"


pytestmark = pytest.mark.django_db


@pytest.fixture
def meter() -> Iterator[Meter]:
    """The meter of expensive calls, without the counts of other tests."""
    rates.forget()
    yield rates.limits().meter
    rates.forget()


@pytest.fixture
def slow(monkeypatch) -> None:
    """Make the query for the volumes take longer than the time of a request that is free."""
    rows = VolumesView.get_queryset

    def slowly(view: VolumesView):
        nap = Func(Value(0.05), template="pg_sleep(%(expressions)s)::text", output_field=CharField())
        return rows(view).annotate(nap=nap).exclude(nap="never")

    monkeypatch.setattr(VolumesView, "get_queryset", slowly)


@pytest.mark.usefixtures("slow")
def test_the_database_ends_the_statement_and_the_page_says_why(owner, account, settings):
    VolumeFactory(account=account, label="web-data")
    browser = signed_in(owner)
    assert "web-data" in words(browser.get(PAGE, {"label": "web"}))
    settings.FILTER_TIMEOUT = 0.01
    answer = browser.get(PAGE, {"label": "web"})
    assert answer.status_code == 400
    assert TOO_SLOW in words(answer)
    assert "web-data" not in words(answer)
    assert 'value="web"' in answer.content.decode()
    assert browser.get(PAGE, {"label": "web", "seen": "1"}, headers=HTMX)["HX-Refresh"] == "true"
    assert "web-data" in words(browser.get(PAGE)), "A list without a filter has no limit."
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() != ("10ms",)
    assert Volume.objects.exists()


@pytest.mark.usefixtures("slow")
def test_an_open_page_counts_under_a_limit_of_its_own(owner, account, meter):
    VolumeFactory(account=account, label="web-data")
    browser, poll = signed_in(owner), {"label": "web", "seen": "1"}
    of_filters, of_polls = f"account:{account.pk}", f"polls:{account.pk}"
    assert "web-data" in words(browser.get(PAGE, poll, headers=HTMX))
    assert meter.spent.keys() == {of_polls}
    browser.get(PAGE, {"label": "web"})
    browser.get(PAGE, poll)  # an address that was typed
    assert meter.spent.keys() == {of_polls, of_filters}

    meter.charge(of_filters, meter.most)
    assert browser.get(PAGE, {"label": "web"}).status_code == 429
    assert "web-data" in words(browser.get(PAGE, poll, headers=HTMX))

    rates.forget()
    meter = rates.limits().meter
    meter.charge(of_polls, meter.most)
    assert "web-data" in words(browser.get(PAGE, {"label": "web"}))
    paused = browser.get(PAGE, poll, headers=HTMX)
    assert (paused.status_code, paused.content) == (204, b"")
    assert "HX-Refresh" not in paused
