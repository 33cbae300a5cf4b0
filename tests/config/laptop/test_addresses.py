from pathlib import Path

import pytest
import redis

from config.laptop.embedded import addresses


def test_sockets_are_in_the_state_folder():
    assert addresses.postgres_socket(Path("/home/me/skerry/.state")) == Path(
        "/home/me/skerry/.state/sockets/.s.PGSQL.5432"
    )


@pytest.mark.parametrize("state", ["/" + "deep/" * 30, "/a, b"])
def test_sockets_move_where_their_path_would_not_do(state):
    folder = addresses.socket_folder(Path(state))
    assert folder.parent == Path("/tmp")
    assert folder == addresses.socket_folder(Path(state)), "every process must find the same"
    assert folder != addresses.socket_folder(Path(state) / "other")


def test_longest_path_that_still_fits_is_kept():
    room = addresses.MAX_SOCKET_PATH - len(f"/sockets/{addresses.LONGEST_SOCKET_NAME}")
    fits = Path("/" + "x" * (room - 1))
    assert addresses.socket_folder(fits) == fits / "sockets"
    assert addresses.socket_folder(Path(f"{fits}x")).parent == Path("/tmp")


def test_redis_reads_the_address_of_a_folder_with_spaces():
    client = redis.Redis.from_url(addresses.redis_url(Path("/my cloud")))
    assert client.connection_pool.connection_kwargs["path"] == "/my cloud/sockets/valkey.sock"


@pytest.mark.parametrize(
    ("given", "spelt"),
    [
        ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0"),
        ("rediss://user:pass@cache:6380/2", "rediss://user:pass@cache:6380/2"),
        ("unix:///run/redis.sock?db=3", "redis+socket:///run/redis.sock?virtual_host=3"),
    ],
)
def test_kombu_has_its_own_spelling_of_a_socket(given, spelt):
    assert addresses.broker_url(given) == spelt
