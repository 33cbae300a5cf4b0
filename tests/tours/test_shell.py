"""The commands of docs/shell.sh, which the tours use."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.ports import free_port
from tests.tours.pages import ROOT
from tests.tours.terminal import Terminal

pytestmark = pytest.mark.tour

SOURCE = f". {ROOT}/docs/shell.sh"
INSTANCE = (
    '{"region": "us-east", "type": "g6-nanode-1", "image": "compute/debian11", '
    '"root_pass": "correct-horse-7-battery", "booted": false}'
)


@pytest.fixture
def shell(terminal, server) -> Terminal:
    """A shell that has read docs/shell.sh, with the token that `make serve` prints."""
    shell = terminal(T=server.token)
    assert shell.type(f"{SOURCE}\n") == ("", 0)
    return shell


def say(shell: Terminal, command: str) -> str:
    """Type a command that must succeed, and return its output."""
    shown, status = shell.type(f"{command}\n")
    assert status == 0, shown
    return shown.strip()


def fail(shell: Terminal, command: str) -> str:
    """Type a command that must fail, and return its output."""
    shown, status = shell.type(f"{command}\n")
    assert status != 0, shown
    assert "Traceback" not in shown
    return shown.strip()


def offline_instance(shell: Terminal) -> None:
    """Create an offline instance, whose address is in I."""
    say(shell, f"I=$A/compute/instances/$(api $A/compute/instances -d '{INSTANCE}' | field id)")
    say(shell, "until_status $I offline")


def test_it_is_read_in_any_folder_and_leaves_nothing_there(terminal, tmp_path):
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    shell = terminal(elsewhere)
    assert say(shell, SOURCE) == ""
    assert say(shell, "api $A/profile | field username") == "owner"
    assert list(elsewhere.iterdir()) == []


def test_a_shell_makes_one_token_that_ends_the_same_day_and_takes_none_from_others(shell, terminal):
    """Or within two hours, if the day ends before."""
    count = "api $A/profile/tokens | field results"
    before = int(say(shell, count))
    one, other = terminal(), terminal()
    say(one, SOURCE)
    first = say(one, "echo $T")
    say(one, SOURCE)
    assert (say(one, "echo $T"), int(say(shell, count))) == (first, before + 1)

    start = datetime.now(UTC).replace(tzinfo=None)
    say(other, SOURCE)
    latest = datetime.now(UTC).replace(tzinfo=None) + timedelta(hours=2)
    assert (say(other, "echo $T") == first, int(say(shell, count))) == (False, before + 2)
    assert say(one, "api $A/profile | field username") == "owner"
    assert say(shell, f"api $A/profile/tokens | field data.{before}.label") == "docs/shell.sh"
    expiry = datetime.fromisoformat(say(shell, f"api $A/profile/tokens | field data.{before + 1}.expiry"))
    assert expiry.date() == start.date() or expiry <= latest


def test_a_token_that_works_no_more_is_replaced(terminal):
    shell = terminal(T="0" * 64)
    assert say(shell, SOURCE) == ""
    assert say(shell, "api $A/profile | field username") == "owner"


def test_where_no_server_answers_it_says_how_to_name_another(terminal):
    url = f"http://127.0.0.1:{free_port()}"
    shown = fail(terminal(PORT=url.rpartition(":")[2]), SOURCE)
    assert f"No server answers at {url}/v4. Start one with `make serve`, or give its port: PORT=" in shown


def test_a_state_that_is_not_the_servers_has_no_token_for_it(terminal, tmp_path):
    shown = fail(terminal(STATE_DIR=str(tmp_path / "other")), SOURCE)
    assert shown.startswith("No working token could be created for http://127.0.0.1:")
    assert shown.endswith(
        "Set STATE_DIR or DATABASE_URL as for `make serve`, or set T to the token that `make serve` prints."
    )


def test_a_missing_field_is_shown_with_the_reason_of_the_api(shell):
    assert fail(shell, "api $A/volumes/999999 | field id") == "refused: Not found"
    missing = "refused: label: label is required", "refused: Must provide a region or a Compute ID"
    assert fail(shell, "api $A/volumes -d '{}' | field id") == "\n".join(missing)
    assert fail(shell, "api $A/profile | field nope").startswith('The answer has no nope: {"uid":')
    assert fail(shell, "api $A/tickets/none | first").startswith("refused: ")
    assert fail(shell, "echo | field id") == "The answer is empty."
    assert fail(shell, "echo '<html>' | field id") == "This is not an answer of the API: <html>"


def test_waiting_for_a_deleted_object_ends_at_once(shell):
    assert fail(shell, "until_status $A/volumes/999999 active") == "refused: Not found"
    assert say(shell, "until_gone $A/volumes/999999") == ""


def test_waiting_for_a_failed_job_ends_at_once(shell, server):
    offline_instance(shell)
    server.hypervisor.script("refuse", call="start", count=None)
    try:
        say(shell, "api -X POST $I/boot")
        assert fail(shell, "until_status $I running").startswith("compute_boot failed: ")
    finally:
        server.hypervisor.clear_faults()
    say(shell, "api -X DELETE $I && until_gone $I")


def test_waiting_ends(shell, server):
    offline_instance(shell)
    with server.without_hypervisor():
        say(shell, "PATIENCE=1; api -X POST $I/boot")
        assert fail(shell, "until_status $I running").endswith("is still booting after 1 seconds.")
        assert '"reason":"Compute busy."' in fail(shell, "when_free -X POST $I/reboot")
        say(shell, "PATIENCE=600")
    assert say(shell, "when_free -X POST $I/reboot") == "{}"
    say(shell, "until_status $I running")
    say(shell, "api -X DELETE $I && until_gone $I")
