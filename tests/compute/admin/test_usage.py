"""Usage in the admin: intervals and statements, which nobody changes, and the sums on an account's page."""

from datetime import date
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from compute.models import InstanceType, ResourcePrice, UsageInterval, UsageStatement
from compute.services.usage.comparison import compare
from compute.services.usage.recording import record
from tests.config.admin.pages import do, list_address, page_address
from tests.factories import AccountFactory, UsageStatementFactory, VolumeFactory

pytestmark = pytest.mark.django_db


def listed(admin, model, **filters) -> list:
    return list(admin.get(list_address(model), filters).context["cl"].result_list)


@pytest.fixture
def volume(world):
    """A volume of 20 GB that was metered for free until it got a price."""
    volume = VolumeFactory(account=world.account, region=world.region, label="data", size=20)
    record(world.account.pk, volumes=[volume.pk])
    ResourcePrice.objects.create(id="volume", hourly="0.00015", monthly="0.1")
    record(world.account.pk, volumes=[volume.pk])
    return volume


def test_intervals_show_running_and_ended_usage(admin, volume, running):
    ended, priced = UsageInterval.objects.filter(kind="volume").order_by("pk")
    text = admin.get(list_address(UsageInterval)).text
    for part in (">data<", "20 GB", ">0.003<", f"instance, {running.type_id}", ">0.01<", page_address(ended)):
        assert part in text
    assert page_address(volume) not in admin.get(page_address(ended)).text, "it may be gone"
    page = admin.get(page_address(priced)).text
    assert page_address(volume) in page
    assert "<div>Volumes: 1</div><div>Storage of volumes: 20 GB</div>" in page
    assert "0.00015 an hour, at most 0.1 a month" in page
    for address in (page_address(priced).replace("/change/", "/delete/"), list_address(UsageInterval) + "add/"):
        assert admin.post(address, {"post": "yes"}).status_code == 403


def test_intervals_are_found(admin, volume, running):
    ended, priced = UsageInterval.objects.filter(kind="volume").order_by("pk")
    compute = UsageInterval.objects.get(kind="compute")
    assert listed(admin, UsageInterval, time="now") == sorted([priced, compute], key=lambda row: -row.pk)
    assert listed(admin, UsageInterval, time="ended") == [ended]
    assert listed(admin, UsageInterval, kind__exact="volume", region=volume.region_id) == [priced, ended]
    assert listed(admin, UsageInterval, region="elsewhere") == []
    assert listed(admin, UsageInterval, account=str(AccountFactory().pk)) == []
    assert priced in listed(admin, UsageInterval, q=str(volume.pk))
    assert len(listed(admin, UsageInterval, q=str(volume.account_id))) >= 3
    assert listed(admin, UsageInterval, q="data") == []


@pytest.mark.parametrize("model", [UsageInterval, UsageStatement])
def test_lists_have_a_fixed_number_of_queries(admin, world, model):
    def add() -> None:
        account = AccountFactory()
        record(account.pk, volumes=[VolumeFactory(account=account).pk])
        UsageStatementFactory(account=account)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert admin.get(list_address(model)).status_code == 200
        return len(captured)

    add()
    queries()
    few = queries()
    for _ in range(4):
        add()
    assert queries() == few


def test_a_statement_shows_its_lines_the_dearest_first(admin, world):
    statement = UsageStatementFactory(account=world.account)
    line = statement.lines[0]
    beyond = {
        **line,
        "kind": "transfer",
        "label": "",
        "price_hourly": "0.005",
        "price_monthly": None,
        "amount": "9",
    }
    UsageStatement.objects.update(lines=[line, beyond])
    other = UsageStatementFactory(account=world.account, month=date(2026, 9, 1), mailed=statement.created)
    [panel] = admin.get(page_address(statement)).context["panels"]
    assert [row.cells[0] for row in panel.rows] == ["transfer beyond the pool", "volume"]
    assert panel.rows[1].cells[1:] == (
        "data", 7, "us-test", "", "744", "14,880", "0.00015 an hour, at most 0.1 a month", "2.0000",
    )  # fmt: skip
    assert panel.rows[0].cells[7] == "0.005 a GB"
    assert listed(admin, UsageStatement, mailed="yes") == [other]
    assert listed(admin, UsageStatement, mailed="no", month="2026-10-01") == [statement]
    assert admin.get(list_address(UsageStatement), {"month": "soon"}).status_code == 302
    text = admin.get(page_address(world.account)).text
    assert page_address(other) in text


def test_the_page_of_an_account_sums_running_usage(admin, volume):
    panels = {panel.title: panel for panel in admin.get(page_address(volume.account)).context["panels"]}
    assert [row.cells for row in panels["Metered now"].rows] == [("volume", 1, "20 GB", "0.003")]


def test_a_price_that_staff_change_applies_to_instances_that_exist(
    admin, running, django_capture_on_commit_callbacks
):
    page = page_address(running.type)
    form = admin.get(page).context["adminform"].form
    values = {name: "" if value is None else value for name, value in form.initial.items()}
    sizes = {"memory": "2", "disk": "25"}
    assert admin.post(page, {**values, **sizes, "price_hourly": "1000000"}).context["errors"]
    with django_capture_on_commit_callbacks(execute=True):
        assert admin.post(page, {**values, **sizes, "price_hourly": "0.02"}).status_code == 302
    assert InstanceType.objects.get().price_hourly == 0.02
    prices = UsageInterval.objects.filter(kind="compute").order_by("pk").values_list("price_hourly", flat=True)
    assert list(prices) == [Decimal("0.01"), Decimal("0.02")]


def test_staff_repair_an_account_whose_counters_differ(admin, world):
    VolumeFactory(account=world.account, region=world.region)
    assert "Repair usage" not in admin.get(page_address(world.account)).text, "nobody compared them yet"
    assert compare(world.account.pk)
    assert "Repair usage" in admin.get(page_address(world.account)).text

    response = do(admin, world.account, "repair_usage")

    assert "Counters and intervals were corrected: intervals, volume_storage, volumes." in response.text
    assert compare(world.account.pk) == {}
