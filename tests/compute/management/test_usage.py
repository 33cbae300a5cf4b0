"""`manage.py usage export`: the usage of a month for billing systems. docs/usage.md shows an example."""

import csv
import errno
import json
import os
import re
import shlex
from contextlib import redirect_stdout
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from compute.management.commands import usage
from compute.models import ResourcePrice, Transfer, UsageStatement
from compute.services.stats.transfer import GB
from compute.services.usage import statements
from tests.compute.services.usage.playing import DECEMBER, NOVEMBER, Clock, usage_clock, used
from tests.factories import AccountFactory, InstanceTypeFactory, VolumeFactory
from tests.tours.pages import ROOT, blocks_for

pytestmark = pytest.mark.django_db

__all__ = ["usage_clock"]

PAGE = (ROOT / "docs" / "usage.md").read_text().split("## A month for a billing system")[1]
HOUR = timedelta(hours=1)


def export(*words: object) -> str:
    """Run the command, and return its output."""
    output = StringIO()
    call_command("usage", "export", *map(str, words), stdout=output)
    return output.getvalue()


def records(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text)))


def blocks_of_page(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def play_example() -> None:
    """Create the customers of docs/usage.md."""
    first = AccountFactory(id=1001, euuid="5d6dcb1b-3f4f-4b0c-a2b2-2f2f8f0a9c11", company="Fjord Data AS")
    second = AccountFactory(id=1002, euuid="0b8f4c1e-92c5-4a55-9d3c-6a1d0c3f7e22", company="Nord, Ltd")
    for name, transfer in (("g6-standard-1", 2000), ("g6-standard-2", 4000)):
        InstanceTypeFactory(id=name, transfer=transfer)
    ResourcePrice.objects.update_or_create(pk="transfer", defaults={"each": "0.005"})
    web = {"kind": "compute", "resource": 2001, "label": "web-1", "region": "no-osl", "type": "g6-standard-1"}
    used(first, NOVEMBER - 9 * HOUR, hourly="0.015", monthly="10", **web)
    batch = {"kind": "compute", "resource": 2002, "label": "batch-1", "region": "no-osl", "type": "g6-standard-2"}
    used(first, NOVEMBER + 50 * HOUR, NOVEMBER + 86.5 * HOUR, hourly="0.03", monthly="20", **batch)
    volume = {"kind": "volume", "resource": 3001, "label": "data", "region": "no-osl", "hourly": "0.00015"}
    grown = NOVEMBER + timedelta(days=15)
    used(first, NOVEMBER, grown, quantity="20", monthly="0.1", **volume)
    used(first, grown, quantity="50", monthly="0.1", **volume)
    address = {"kind": "extra_ipv4", "resource": first.pk, "hourly": "0.003", "monthly": "2"}
    used(first, NOVEMBER + 10 * HOUR, NOVEMBER + 110 * HOUR, **address)
    Transfer.objects.create(account=first, month=NOVEMBER, sent=2243 * GB)
    balancer = {"kind": "nodebalancer", "resource": 4001, "label": "balancer-1", "region": "no-osl"}
    used(second, NOVEMBER + timedelta(days=19), hourly="0.015", monthly="10", **balancer)


def test_the_example_of_the_page(usage_clock: Clock, monkeypatch, tmp_path: Path):
    play_example()
    usage_clock.move(DECEMBER + HOUR)
    assert statements.freeze_due() == 3, "web-1 was there in October too"
    monkeypatch.chdir(tmp_path)
    [command] = blocks_for(__file__)
    program, *words = shlex.split(command)
    assert program == "./manage.py"
    call_command(*words)
    [file] = tmp_path.iterdir()
    shown, totals = blocks_of_page("text")
    assert file.read_text().splitlines() == shown.splitlines()
    [program] = blocks_of_page("python")
    printed = StringIO()
    with redirect_stdout(printed):
        exec(compile(program, "docs/usage.md", "exec"), {})
    assert printed.getvalue() == totals
    billed = [line.rpartition(" ")[2] for line in totals.splitlines()]
    assert billed == [str(each.total) for each in UsageStatement.objects.filter(month=NOVEMBER).order_by("account")]


def test_a_row_is_preliminary_until_its_statement_is_written(account, usage_clock: Clock):
    used(account, NOVEMBER, label="data")
    for moment, hours in ((NOVEMBER + 10 * HOUR, "10.000000"), (DECEMBER + HOUR, "720.000000")):
        usage_clock.move(moment)
        [row] = records(export("--month", "2026-11"))
        assert (row["state"], row["hours"]) == ("preliminary", hours)
    statements.freeze_due()
    [row] = records(export("--month", "2026-11"))
    assert (row["state"], row["hours"], row["amount"]) == ("final", "720.000000", "7.2000")
    assert (row["price_monthly"], row["euuid"]) == ("", str(account.euuid))
    [row] = records(export("--month", "2026-12"))
    assert (row["state"], row["hours"], row["month"]) == ("preliminary", "1.000000", "2026-12")


def test_json_has_the_same_rows_with_texts_unchanged(account, usage_clock: Clock):
    used(account, NOVEMBER, label="=1+1", resource=5)
    used(account, NOVEMBER, label="Bø, \"x\"", resource=6, monthly="2")  # fmt: skip
    found = json.loads(export("--month", "2026-11", "--format", "json"))
    assert [row["label"] for row in found] == ["=1+1", 'Bø, "x"']
    assert [list(row) for row in found] == [list(records(export("--month", "2026-11"))[0])] * 2
    assert (found[0]["account_id"], found[0]["resource"]) == (account.pk, 5)
    assert (found[0]["price_monthly"], found[1]["amount"]) == (None, "2.0000")
    assert json.loads(export("--month", "2026-10", "--format", "json")) == []


@pytest.mark.parametrize("first", "=+-@")
def test_a_spreadsheet_reads_no_formula(account, usage_clock: Clock, first):
    account.company = f"{first}SUM(A1)"
    account.save()
    used(account, NOVEMBER, label=f"{first}cmd|x", kind="compute")
    [row] = records(export("--month", "2026-11"))
    assert (row["company"], row["label"]) == (f"'{first}SUM(A1)", f"'{first}cmd|x")


def test_one_account_can_be_exported(usage_clock: Clock):
    accounts = [AccountFactory() for _ in range(2)]
    for each in accounts:
        used(each, NOVEMBER, resource=each.pk)
    assert len(records(export("--month", "2026-11"))) == 2
    [row] = records(export("--month", "2026-11", "--account", accounts[1].pk))
    assert row["account_id"] == str(accounts[1].pk)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--month", "2026-13"], "month: '2026-13' is not a month"),
        (["--month", "november"], "month: 'november' is not a month"),
        (["--month", "2026-11-01"], "month: '2026-11-01' is not a month"),
        (["--month", "2027-01"], "month: 2027-01 has not begun"),
        (["--month", "2026-11", "--account", "x"], "account: 'x' is not the id of an account."),
        (["--month", "2026-11", "--account", "999999"], "account: There is no account 999999."),
        (["--month", "2026-11", "--format", "xml"], "argument --format: invalid choice: 'xml'"),
        (["--month", "2026-11", "--output", "/dev"], "output: /dev: Is a directory."),
        (["--month", "2026-11", "--output", "no/file"], "no/file: No such file or directory."),
        ([], "the following arguments are required: --month"),
    ],
)  # fmt: skip
def test_an_error_names_the_argument(usage_clock: Clock, words, reason):
    with pytest.raises(CommandError, match=re.escape(reason)):
        export(*words)


def full(rows, out) -> None:
    """Write a part of the rows to a disk that is full then."""
    out.write("account_id,")
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_file_is_replaced_only_as_a_whole(account, usage_clock: Clock, monkeypatch, tmp_path: Path):
    used(account, NOVEMBER)
    file = tmp_path / "usage.csv"
    file.write_text("before")
    with monkeypatch.context() as patch:
        patch.setitem(usage.FORMATS, "csv", full)
        with pytest.raises(CommandError, match="No space left on device"):
            export("--month", "2026-11", "--output", file)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("usage.csv", "before")]
    assert export("--month", "2026-11", "--output", file) == ""
    assert file.read_bytes().decode() == export("--month", "2026-11")
    link = tmp_path / "latest.csv"
    link.symlink_to(file)
    file.write_text("before")
    export("--month", "2026-11", "--output", link)
    assert link.is_symlink()
    assert file.read_text().startswith("account_id,")
    assert len(list(tmp_path.iterdir())) == 2


class Closed(StringIO):
    """A pipe whose reader has left."""

    def write(self, text: str) -> int:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def test_a_reader_that_leaves_is_no_error_of_the_command(account, usage_clock: Clock):
    with pytest.raises(BrokenPipeError):  # `manage.py` ends quietly
        call_command("usage", "export", "--month", "2026-11", stdout=Closed())


def test_check_names_accounts_that_differ_and_repair_corrects_them(account):
    VolumeFactory(account=account, size=30)
    output = StringIO()
    with pytest.raises(CommandError, match=r"1 accounts differ. `manage.py usage repair` corrects them"):
        call_command("usage", "check", stdout=output)
    assert output.getvalue() == (
        f"account {account.pk}: volumes 0 instead of 1, volume_storage 0 instead of 30, 1 intervals\n"
    )
    call_command("usage", "repair", "--account", str(account.pk), stdout=output)
    assert output.getvalue().endswith("1 accounts repaired.\n")
    call_command("usage", "check", stdout=output)
    assert output.getvalue().endswith("All counters and intervals equal the resources.\n")
