"""Long work in processes of their own: started once, polled, and started again after a death."""

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
import zipapp
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from compute.drivers.qemu.agent import records, tasks
from compute.drivers.qemu.agent.disks import machine_disks
from compute.drivers.qemu.agent.errors import Failed, Refused
from compute.drivers.qemu.agent.store import Store
from compute.drivers.qemu.bundle import bundle
from tests.compute.drivers.qemu.agent.works import (
    NAME,
    break_down,
    fail,
    note,
    refuse,
    run,
    wait_for_file,
    wait_in_a_program,
)
from tests.waiting import wait_for

ROOT = Path(__file__).parents[5]


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "host")


def notes(store: Store) -> list[str]:
    try:
        return (store.root / "notes").read_text().splitlines()
    except FileNotFoundError:
        return []


def began(store: Store) -> list[int]:
    return [int(each.split()[1]) for each in notes(store) if each.startswith("began")]


def test_short_work_is_done_at_once(store):
    assert run(store, note, text="one").done
    assert notes(store) == ["one"]


def test_secrets_reach_the_work_and_no_file(store):
    assert run(store, note, text="one ", secrets={"secret": "correct-horse"}).done
    assert notes(store) == ["one correct-horse"]
    kept = [path.read_bytes() for path in store.tasks().rglob("*") if path.is_file()]
    assert kept
    assert not any(b"correct-horse" in each for each in kept)


def test_a_repeated_call_looks_at_the_work(store):
    first = run(store, wait_for_file, patience=0)
    assert (first.percent, first.done) == (0, False)
    assert tasks.is_running(store.tasks(), NAME)
    assert not run(store, wait_for_file, patience=0).done
    (store.root / "go").touch()
    assert run(store, wait_for_file).done
    assert not tasks.is_running(store.tasks(), NAME)
    assert len(began(store)) == 1


def test_it_says_how_far_it_is(store):
    run(store, wait_for_file, patience=0, report=True)
    progress = store.tasks() / NAME / "progress"
    records_are_there = lambda: records.read(progress) is not None  # noqa: E731
    wait_for(records_are_there)
    seen = run(store, wait_for_file, patience=0, report=True)
    assert seen.percent == 25
    assert seen.rate is not None
    assert seen.remaining is not None
    tasks.cancel(store.tasks(), NAME)


def test_other_work_at_the_same_target_has_to_wait(store):
    run(store, wait_for_file, patience=0)
    with pytest.raises(Failed) as caught:
        run(store, wait_for_file, patience=0, text="another")
    assert not isinstance(caught.value, Refused)
    (store.root / "go").touch()
    assert run(store, wait_for_file).done
    assert run(store, note, text="then").done


@pytest.mark.parametrize(("work", "error"), [(refuse, Refused), (fail, Failed), (break_down, Failed)])
def test_a_failure_is_raised_once_and_the_next_call_begins_anew(store, work, error):
    for _ in range(2):
        with pytest.raises(error):
            run(store, work)
    assert notes(store) == ["tried"] * (2 if work is refuse else 0)


def test_a_failure_that_nobody_asked_about_is_not_that_of_other_work(store):
    with pytest.raises(Failed):
        run(store, fail)
    records.write(store.tasks() / NAME / "failure", {"text": "old", "refused": True, "digest": "of another"})
    assert run(store, note, text="one").done


def test_a_refused_task_leaves_nothing(store):
    with pytest.raises(Refused):
        run(store, refuse)
    assert list(store.tasks().iterdir()) == []
    run(store, refuse, patience=0)
    wait_for(lambda: not tasks.is_running(store.tasks(), NAME))
    with pytest.raises(Refused):
        run(store, refuse)
    assert list(store.tasks().iterdir()) == []
    assert notes(store) == ["tried"] * 2


def test_work_outlives_its_caller(store):
    code = (
        "import sys; from pathlib import Path; from compute.drivers.qemu.agent.store import Store\n"
        "from tests.compute.drivers.qemu.agent import works\n"
        "works.run(Store(Path(sys.argv[1])), works.wait_for_file, patience=0)\n"
        "import os, signal; os.killpg(0, signal.SIGKILL)"
    )
    caller = subprocess.run(
        [sys.executable, "-c", code, str(store.root)],
        cwd=ROOT, start_new_session=True, check=False, capture_output=True,
    )  # fmt: skip
    assert caller.returncode == -signal.SIGKILL, caller.stderr.decode()
    (store.root / "go").touch()
    assert run(store, wait_for_file).done
    assert len(began(store)) == 1


def test_work_whose_process_died_is_begun_anew(store):
    run(store, wait_for_file, patience=0)
    wait_for(lambda: began(store))
    os.kill(began(store)[0], signal.SIGKILL)
    wait_for(lambda: not tasks.is_running(store.tasks(), NAME))
    (store.root / "go").touch()
    assert run(store, wait_for_file).done
    assert len(began(store)) == 2


def test_nobody_begins_anew_while_a_program_of_dead_work_goes_on(store):
    run(store, wait_in_a_program, patience=0)
    wait_for(lambda: (store.root / "program").exists() and (store.root / "program").read_text().strip())
    group = records.read(store.tasks() / NAME / "process")["group"]
    program = int((store.root / "program").read_text())
    os.kill(group, signal.SIGKILL)
    wait_for(lambda: not Path(f"/proc/{group}").exists() or "Z" in Path(f"/proc/{group}/stat").read_text())
    assert tasks.is_running(store.tasks(), NAME)
    assert not run(store, wait_in_a_program, patience=0).done
    os.kill(program, signal.SIGKILL)
    wait_for(lambda: not tasks.is_running(store.tasks(), NAME))


def test_cancelled_work_is_ended_with_its_programs(store):
    run(store, wait_in_a_program, patience=0)
    wait_for(lambda: (store.root / "program").exists() and (store.root / "program").read_text().strip())
    tasks.cancel(store.tasks(), NAME)
    assert not tasks.is_running(store.tasks(), NAME)
    tasks.cancel(store.tasks(), NAME)
    tasks.cancel(store.tasks(), "never.was")
    assert list(store.tasks().iterdir()) == [], "nothing is left"
    assert run(store, note, text="again").done


def test_names_of_tasks_stay_in_their_folder(store):
    for name in ("../x", "a/b", "", ".x"):
        with pytest.raises(Refused):
            tasks.cancel(store.tasks(), name)


def test_calls_of_many_begin_it_once(store):
    """A caller that ends the task does not disturb one that starts it again."""
    begun = threading.Barrier(8)

    def call() -> bool:
        begun.wait()
        return run(store, wait_for_file, patience=0).done

    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(call) for _ in range(8)]
    assert not any(each.result() for each in calls)
    (store.root / "go").touch()
    assert run(store, wait_for_file).done
    assert len(began(store)) == 1


def test_it_works_packed_as_one_file(tmp_path):
    """As on a host, where none of our other files exist."""
    packed = tmp_path / "packed"
    with zipfile.ZipFile(io.BytesIO(bundle().content)) as file:
        file.extractall(packed)
    (packed / "__main__.py").write_text(
        "import sys; from pathlib import Path; from compute.drivers.qemu.agent import store\n"
        "from compute.drivers.qemu.agent.disks import machine_disks\n"
        "made = machine_disks.create_disk(\n"
        "    store.Store(Path(sys.argv[1])), machine_disks.NewDisk('skerry-7', 'skerry-7-disk-1', 10, 'raw')\n"
        ")\n"
        "print(made.done)"
    )
    zipapp.create_archive(packed, tmp_path / "agent.pyz")
    (tmp_path / "host/machines/skerry-7").mkdir(parents=True)
    output = ""
    while output != "True":
        output = subprocess.run(
            [sys.executable, "-I", str(tmp_path / "agent.pyz"), str(tmp_path / "host")],
            cwd=tmp_path, check=True, capture_output=True, text=True,
        ).stdout.strip()  # fmt: skip
    assert (tmp_path / "host/machines/skerry-7/disks/skerry-7-disk-1.raw").stat().st_size == 10 << 20


@pytest.mark.parametrize(
    ("work", "earlier"), [(note, "works"), (machine_disks.make_disk, "disks")], ids=["in another folder", "renamed"]
)
def test_a_task_of_the_previous_release_is_recognised(work, earlier):
    request = [f"compute.drivers.qemu.agent.{earlier}", work.__name__, {"text": "a"}]
    known = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
    assert tasks._digest(work, {"text": "a"}) == known
