"""Copies of large files that are mostly holes."""

import os

from compute.drivers.qemu.agent.disks import sparse
from tests.compute.drivers.qemu.disk_files import MB, allocated


def test_a_copy_has_the_content_and_no_more_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(sparse, "_cloned", lambda *_: False)
    source, target = tmp_path / "source", tmp_path / "target"
    with source.open("wb") as file:
        file.truncate(10_000 * MB)
        for at in (0, 4 * MB + 77, 9_999 * MB):
            file.seek(at)
            file.write(os.urandom(5000))
        file.seek(100 * MB)
        file.write(bytes(20 * MB))
    progress = []
    sparse.copy(source, target, lambda done, total: progress.append((done, total)))
    assert target.stat().st_size == source.stat().st_size
    with source.open("rb") as one, target.open("rb") as other:
        for at in (0, 4 * MB, 100 * MB, 9_999 * MB):
            one.seek(at)
            other.seek(at)
            assert one.read(MB) == other.read(MB)
    assert allocated(target) < 1 * MB, "zeros are not written"
    assert progress[-1][0] == progress[-1][1]


def test_the_last_data_of_a_file_is_found(tmp_path):
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(100 * MB)
        assert sparse.ends(path) == 0
        os.pwrite(file.fileno(), b"x", 10 * MB)
    assert 10 * MB < sparse.ends(path) <= 11 * MB


def test_data_at_odd_places_is_written_whole(tmp_path):
    path = tmp_path / "file"
    data = bytes(5000) + b"a" + bytes(9000) + b"b" * 5000 + bytes(1)
    with path.open("w+b") as file:
        file.truncate(100_000)
        sparse.put(file.fileno(), 12_345, data)
        assert os.pread(file.fileno(), len(data), 12_345) == data
