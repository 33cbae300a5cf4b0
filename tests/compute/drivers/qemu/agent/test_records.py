"""Records are replaced as a whole, with concurrent writers and killed writers."""

import os
import signal
import threading

from compute.drivers.qemu.agent import records
from tests.compute.drivers.qemu.striking import before


def test_readers_see_whole_records_while_several_processes_write(tmp_path):
    path = tmp_path / "record"
    wanted = [{"text": str(number) * 100_000} for number in range(4)]
    writers = [
        threading.Thread(target=lambda each=each: [records.write(path, each) for _ in range(20)]) for each in wanted
    ]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert records.read(path) in [None, *wanted]
    assert records.read(path) in wanted
    assert [each.name for each in tmp_path.iterdir()] == ["record"]


def test_a_writer_killed_before_the_rename_leaves_a_file_that_the_next_one_replaces(tmp_path):
    path = tmp_path / "record"
    records.write(path, {"is": "old"})
    pid = os.fork()
    if not pid:
        before(1, lambda event, values: event == "os.rename", lambda: os.kill(os.getpid(), signal.SIGKILL))
        records.write(path, {"is": "lost, and longer than what comes after it"})
        os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    assert records.read(path) == {"is": "old"}
    assert len(list(tmp_path.iterdir())) == 2
    records.write(path, {"is": "new"})
    assert records.read(path) == {"is": "new"}
    assert [each.name for each in tmp_path.iterdir()] == ["record"]


def test_a_removed_record_leaves_no_files(tmp_path):
    path = tmp_path / "record"
    records.write(path, {})
    (tmp_path / ".record.new").touch()
    records.remove(path)
    records.remove(path)
    assert list(tmp_path.iterdir()) == []
