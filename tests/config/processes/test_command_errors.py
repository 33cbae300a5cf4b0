"""Errors that commands show as one line, or not at all."""

import re
import subprocess
import sys

import pytest
from django.db import InternalError, ProgrammingError, connection, transaction
from django.db.migrations.recorder import MigrationRecorder

from config.management.commands.serve import always, cannot_use
from config.processes.command_errors import BROKEN_PIPE, migrated, one_line_errors
from tests.waiting import wait_for

pytestmark = pytest.mark.django_db


def has_session(pid: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # a transaction keeps its first snapshot of the sessions
        cursor.execute("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = %s)", [pid])
        return cursor.fetchone()[0]


def use_after_a_pause() -> None:
    """End the database connection in a transaction, as on a laptop that was suspended."""
    own = connection.copy()
    own.set_autocommit(False)
    try:
        with own.cursor() as cursor:
            cursor.execute("SET idle_in_transaction_session_timeout = '10ms'")
            cursor.execute("SELECT 1")
            wait_for(lambda: not has_session(own.connection.info.backend_pid))
            cursor.execute("SELECT 1")
    finally:
        own.close()


def use_a_failed_transaction() -> None:
    own = connection.copy()
    own.set_autocommit(False)
    try:
        with own.cursor() as cursor:
            with pytest.raises(ProgrammingError):
                cursor.execute("SELECT FROM nowhere")
            cursor.execute("SELECT 1")
    finally:
        own.close()


def test_a_connection_that_the_database_took_away_ends_a_start_with_a_line():
    with pytest.raises(SystemExit) as caught, one_line_errors(cannot_use, which=always):
        use_after_a_pause()
    message = str(caught.value)
    # The server's last words are lost when its end of a TCP connection closes first.
    assert re.match("Cannot use the database: .*(idle-in-transaction timeout|server closed the conn)", message)
    assert "\n" not in message


def test_commands_that_take_a_missing_database_alone_for_their_environment_s_fault_show_all_of_it():
    with pytest.raises(InternalError), one_line_errors():
        use_a_failed_transaction()


def use_a_missing_table() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT FROM nowhere")


def test_a_database_without_tables_and_one_of_an_earlier_release_are_each_a_sentence(settings, monkeypatch):
    monkeypatch.delenv("DATABASE_URL", raising=False)
    applied = MigrationRecorder.Migration.objects
    applied.filter(app="compute").latest("pk").delete()
    with pytest.raises(SystemExit) as caught, migrated():
        use_a_missing_table()
    assert str(caught.value) == f"The database in {settings.STATE_DIR} lacks 1 migration: run `manage.py migrate`."
    applied.all().delete()
    with pytest.raises(SystemExit) as caught, migrated():
        use_a_missing_table()
    message = f"The database in {settings.STATE_DIR} has no tables. `manage.py migrate` creates them."
    assert str(caught.value).startswith(message)
    monkeypatch.setenv("DATABASE_URL", "postgres://somewhere/else")
    with pytest.raises(SystemExit, match="The database of DATABASE_URL has no tables"), migrated():
        use_a_missing_table()


def test_a_table_that_no_migration_makes_is_a_fault_of_ours():
    with pytest.raises(ProgrammingError), migrated():
        use_a_missing_table()


WRITER = """
import sys
from config.processes.command_errors import quiet_if_reader_leaves
with quiet_if_reader_leaves():
    print("a line")
    sys.stdin.read()  # until the reader has left
    print("x" * int(sys.argv[1]))
"""
BREAKS_ANOTHER = """
import os
from config.processes.command_errors import quiet_if_reader_leaves
with quiet_if_reader_leaves():
    reader, writer = os.pipe()
    os.close(reader)
    os.write(writer, b"x")
"""


@pytest.mark.parametrize("length", [10, 1_000_000])
def test_a_reader_that_leaves_ends_a_command_quietly(length):
    """The shorter text fits into Python's buffer, so that it is written only at the end."""
    command = [sys.executable, "-c", WRITER, str(length)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:
        process.stdout.close()
        process.stdin.close()
        shown = process.stderr.read()
    assert (process.returncode, shown) == (BROKEN_PIPE, b"")


def test_another_broken_pipe_is_an_error():
    found = subprocess.run([sys.executable, "-c", BREAKS_ANOTHER], capture_output=True, check=False)
    assert found.returncode == 1
    assert b"BrokenPipeError" in found.stderr
