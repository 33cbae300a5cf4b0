"""Lists whose filters take too long."""

import pytest
from django.db import connection
from django.db.models import CharField, Func, Value

from compute.models import Volume
from compute.pages.volumes.volume_list import VolumesView
from config.pages.filtered import TOO_SLOW
from tests.accounts.signing_in import words
from tests.compute.at_consoles import signed_in
from tests.compute.pages.visiting import HTMX
from tests.factories import VolumeFactory

PAGE = "/home/volumes"


@pytest.mark.django_db
def test_the_database_ends_the_statement_and_the_page_says_why(owner, account, monkeypatch, settings):
    VolumeFactory(account=account, label="web-data")
    browser = signed_in(owner)
    rows = VolumesView.get_queryset

    def slowly(view: VolumesView):
        nap = Func(Value(0.05), template="pg_sleep(%(expressions)s)::text", output_field=CharField())
        return rows(view).annotate(nap=nap).exclude(nap="never")

    monkeypatch.setattr(VolumesView, "get_queryset", slowly)
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
