import os
import stat
from pathlib import Path

import pytest

from config.environment import folders
from config.environment.checks import is_open_to_others


@pytest.fixture
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_umask")
def test_no_folder_that_is_made_can_be_read_by_others(tmp_path: Path):
    state = tmp_path / "state"
    folders.make_private(state / "attachments")
    assert not is_open_to_others(state)
    assert stat.S_IMODE((state / "attachments").stat().st_mode) == 0o700


def test_a_folder_that_is_there_is_left_as_it_is(tmp_path: Path):
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    folders.make_private(shared / "uploads")
    folders.make_private(shared / "uploads")
    assert stat.S_IMODE(shared.stat().st_mode) == 0o755
