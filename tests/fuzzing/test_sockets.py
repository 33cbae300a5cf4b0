"""A short run of `make fuzz`: bytes to a web server of its own. Most of them are no good request."""

import subprocess

import pytest

from tests.bench.servers import process, served
from tests.factories import token_of
from tests.fuzzing.bytes_sent import Maker
from tests.fuzzing.sockets import Processes, Round, play, send
from tests.ports import free_port
from tests.waiting import wait_for

pytestmark = pytest.mark.system

REQUESTS = 1500


@pytest.fixture
def token(transactional_db, world) -> str:
    from accounts.models import User

    return token_of(User.objects.get(pk=world.actor.user_id))


def test_no_bytes_break_the_server(token, process_env, tmp_path):
    port = free_port()
    maker, found = Maker("0", token), Round()
    with process(served("web", port), {**process_env, **UNLIMITED}, tmp_path / "log") as server:
        wait_for(lambda: answers(port, maker, server))
        before = Processes(server.pid).ids()
        assert before, "the processes are found"
        play(port, maker, REQUESTS, found)
        send(port, maker.good(), found)
        assert not found.findings, "\n".join(found.findings)
        assert Processes(server.pid).ids() == before, "a process of the server ended"
    assert found.requests == REQUESTS + 1
    assert {"2xx", "3xx", "4xx", "none"} >= set(found.classes())


UNLIMITED = {f"RATE_LIMIT_{name}": "1000000000/60" for name in ("OVERALL", "ENDPOINT", "INSTANCE_CREATE")}


def answers(port: int, maker: Maker, server: subprocess.Popen) -> bool:
    """Tell whether the server answers already. Fails if it ended."""
    assert server.poll() is None, "the server ended"
    probe = Round()
    try:
        send(port, maker.good(), probe)
    except OSError:
        return False
    return "200" in probe.statuses
