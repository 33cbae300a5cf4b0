"""Rate limits."""

import multiprocessing
import secrets
import time

import pytest
import redis
from django.conf import settings as django_settings

from config.limits import rates
from config.limits.rates import Limit, Limiter, MemoryStore, RedisStore

TWO = (Limit("overall", 5, 7200), Limit("endpoint", 3, 3600, per_endpoint=True))


def someone() -> str:
    return f"user:{secrets.token_hex(8)}"


@pytest.fixture(params=["redis", "memory"])
def limiter(request) -> Limiter:
    shared = RedisStore(django_settings.REDIS_URL) if request.param == "redis" else MemoryStore()
    return Limiter(shared, MemoryStore())


def test_all_limits_hold_and_the_headers_show_the_tightest(limiter):
    user = someone()
    verdicts = [limiter.take(user, "a", TWO) for _ in range(3)]
    assert [(verdict.allowed, verdict.limit, verdict.remaining) for verdict in verdicts] == [
        (True, 3, 2), (True, 3, 1), (True, 3, 0),
    ]  # fmt: skip
    assert 3500 < verdicts[0].reset < 3601  # one hour, up to rounding of floats


def test_refused_requests_count_nowhere(limiter):
    user = someone()
    for _ in range(3):
        limiter.take(user, "a", TWO)
    refused = [limiter.take(user, "a", TWO) for _ in range(10)]
    assert not any(verdict.allowed for verdict in refused)
    assert limiter.take(user, "b", TWO).allowed
    assert limiter.take(user, "b", TWO).allowed
    last = limiter.take(user, "b", TWO)
    assert not last.allowed
    assert last.limit == 5


def test_users_do_not_share_limits(limiter):
    first, second = someone(), someone()
    assert [limiter.take(first, "a", TWO).remaining for _ in range(3)] == [2, 1, 0]
    assert limiter.take(second, "a", TWO).remaining == 2


def test_a_window_starts_at_its_first_request_and_ends(limiter):
    user, brief, begun = someone(), (Limit("brief", 1, 1),), time.monotonic()
    assert limiter.take(user, "a", brief).allowed
    while not limiter.take(user, "a", brief).allowed:
        assert time.monotonic() - begun < 60
        time.sleep(0.05)
    assert time.monotonic() - begun >= 0.99, "Redis counts in milliseconds"


def _hammer(url: str, user: str, requests: int, results) -> None:
    rates.CONNECT_WITHIN = rates.ANSWER_WITHIN = 120  # a process of its own has no fixtures
    limiter = Limiter(RedisStore(url), MemoryStore())
    both = (Limit("overall", 1000, 3600), Limit("endpoint", 150, 3600, per_endpoint=True))
    results.put(sum(limiter.take(user, "a", both).allowed for _ in range(requests)))


def test_four_processes_together_get_exactly_the_limit():
    user, context = someone(), multiprocessing.get_context("spawn")
    results = context.Queue()
    crowd = [
        context.Process(target=_hammer, args=(django_settings.REDIS_URL, user, 100, results)) for _ in range(4)
    ]
    for process in crowd:
        process.start()
    assert sum(results.get(timeout=300) for _ in crowd) == 150
    for process in crowd:
        process.join()


class Flaky:
    """A store that can be unreachable."""

    def __init__(self):
        self.down, self.asked, self.store = True, 0, MemoryStore()

    def send(self, keys, limits):
        self.asked += 1
        if self.down:
            raise redis.ConnectionError("refused")
        return self.store.send(keys, limits)


def test_a_dead_redis_is_asked_once_and_then_left_alone(caplog, monkeypatch):
    monkeypatch.setattr(Limiter, "RETRY", 3600.0)
    flaky = Flaky()
    limiter, user = Limiter(flaky, MemoryStore()), someone()
    assert [limiter.take(user, "a", TWO).allowed for _ in range(5)] == [True, True, True, False, False]
    assert flaky.asked == 1
    assert len([record for record in caplog.records if "out of reach" in record.message]) == 1


def test_a_redis_that_returns_is_used_again(caplog, monkeypatch):
    monkeypatch.setattr(Limiter, "RETRY", 3600.0)
    flaky = Flaky()
    limiter, user = Limiter(flaky, MemoryStore()), someone()
    limiter.take(user, "a", TWO)
    flaky.down, limiter.closed_until = False, time.monotonic()
    assert limiter.take(user, "a", TWO).remaining == 2
    limiter.take(user, "a", TWO)
    assert flaky.asked == 3
    assert any("is back" in record.message for record in caplog.records)


def test_a_connection_that_died_is_made_anew():
    store, user = RedisStore(django_settings.REDIS_URL), someone()
    store.send([user], TWO[:1])()
    store.connection._sock.close()
    assert store.send([user], TWO[:1])()[1][0][0] == 2


def test_a_server_that_restarts_between_question_and_answer_is_asked_again():
    store, user = RedisStore(django_settings.REDIS_URL), someone()
    receive = store.send([user], TWO[:1])
    store.connection.disconnect()
    assert receive()[0]
    assert store.send([user], TWO[:1])()[0]


def test_a_redis_that_forgot_its_scripts_learns_them_again():
    store = RedisStore(django_settings.REDIS_URL)
    redis.Redis.from_url(django_settings.REDIS_URL).script_flush()
    assert store.send([someone()], TWO[:1])()[0]


def test_an_endpoint_over_its_limit_answers_429_with_all_that_clients_need(anonymous, db, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "endpoint": "2/3600"}
    rates.forget()
    headers = {"X-Forwarded-For": "198.51.100.77"}  # ignored: no proxy is configured
    remote = f"198.51.{secrets.randbelow(256)}.{secrets.randbelow(256)}"
    answers = [anonymous.get("/v4/regions", headers=headers, REMOTE_ADDR=remote) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2].json() == {"errors": [{"field": None, "reason": "Too many requests"}]}
    assert 0 < int(answers[2]["Retry-After"]) <= 3600
    assert [answer["X-RateLimit-Remaining"] for answer in answers] == ["1", "0", "0"]
    assert answers[0]["X-RateLimit-Limit"] == "2"
    assert time.time() < int(answers[0]["X-RateLimit-Reset"]) <= time.time() + 3601
    # another endpoint has a limit of its own, and so have another address and a user
    assert anonymous.get("/v4/images", REMOTE_ADDR=remote).status_code == 200
    assert anonymous.get("/v4/regions", REMOTE_ADDR="198.18.0.1").status_code == 200


def test_requests_without_a_good_token_count_by_address(anonymous, db, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "overall": "3/3600"}
    rates.forget()
    remote = f"198.51.{secrets.randbelow(256)}.{secrets.randbelow(256)}"
    bad = {"Authorization": "Bearer " + "0" * 64}
    statuses = [
        anonymous.get("/v4/regions", headers=bad, REMOTE_ADDR=remote).status_code,
        anonymous.get("/v4/nowhere", REMOTE_ADDR=remote).status_code,
        anonymous.patch("/v4/regions", REMOTE_ADDR=remote).status_code,
        anonymous.get("/v4/nowhere", REMOTE_ADDR=remote).status_code,
    ]
    assert statuses == [401, 404, 405, 429]


def test_a_token_without_the_scope_counts_for_its_user(anonymous, client_of, owner, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "endpoint": "3/60"}
    narrow = client_of(owner, "images:read_only")
    answers = [narrow.get("/v4/compute/instances") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 429]
    assert client_of(owner).get("/v4/compute/instances").status_code == 429
    assert anonymous.get("/v4/compute/instances")["X-RateLimit-Remaining"] == "2", "the address has its own count"


def test_an_ipv6_network_counts_as_one_address(anonymous, db, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "overall": "3/3600"}
    rates.forget()
    network = f"2001:db8:{secrets.randbelow(0x10000):x}:{secrets.randbelow(0x10000):x}"
    remotes = [f"{network}::{n}" for n in range(1, 5)]
    statuses = [anonymous.get("/v4/regions", REMOTE_ADDR=remote).status_code for remote in remotes]
    assert statuses == [200, 200, 200, 429]
    assert anonymous.get("/v4/regions", REMOTE_ADDR="2001:db9::1").status_code == 200


def test_a_token_is_counted_for_its_user_each_time_exactly_once(client_of, owner, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "overall": "5/3600"}
    rates.forget()
    first, second = client_of(owner), client_of(owner)
    answers = [client.get("/v4/regions") for client in (first, second, first, second, first, first)]
    assert [answer["X-RateLimit-Remaining"] for answer in answers] == ["4", "3", "2", "1", "0", "0"]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]


def test_all_users_of_an_account_share_one_limit(client_of, owner, restricted, stranger, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "overall": "4/3600", "account": "6/3600"}
    rates.forget()
    first, second = client_of(owner), client_of(restricted)
    path = "/v4/profile/sshkeys"
    answers = [client.get(path) for client in (first, first, first, second, second, second, second)]
    assert [answer.status_code for answer in answers] == [200] * 6 + [429]
    # a client sees its own limit, until the account's is the lower one
    limits = [(answer["X-RateLimit-Limit"], answer["X-RateLimit-Remaining"]) for answer in answers]
    assert limits == [("4", "3"), ("4", "2"), ("4", "1"), ("6", "2"), ("6", "1"), ("6", "0"), ("6", "0")]
    assert 0 < int(answers[-1]["Retry-After"]) <= 3600
    refused = first.get(path)
    assert (refused.status_code, refused["X-RateLimit-Limit"]) == (429, "6")
    assert client_of(stranger).get(path)["X-RateLimit-Remaining"] == "3", "another account has counts of its own"


def test_a_busy_user_alone_never_meets_the_limit_of_its_account():
    """For any start of the windows: a window of the account overlaps with at most two of the user."""
    from config import settings as defaults

    parsed = {name: Limit.parse(name, defaults.RATE_LIMITS[name]) for name in ("overall", "account")}
    assert parsed["account"].window == parsed["overall"].window
    assert parsed["account"].count > 3 * parsed["overall"].count


def test_a_token_that_was_revoked_counts_for_the_address(client_of, owner, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "overall": "3/3600"}
    rates.forget()
    remote = f"198.51.{secrets.randbelow(256)}.{secrets.randbelow(256)}"
    client = client_of(owner)
    assert client.get("/v4/regions", REMOTE_ADDR=remote).status_code == 200
    owner.personal_tokens.all().delete()
    statuses = [client.get("/v4/regions", REMOTE_ADDR=remote).status_code for _ in range(4)]
    assert statuses == [401, 401, 401, 429]
    # the user has lost one request: the one that showed that the token is revoked
    assert client_of(owner).get("/v4/regions")["X-RateLimit-Remaining"] == "0"


def test_asking_how_long_to_wait_counts_nothing(limiter):
    user, limits = someone(), (Limit("tries", 2, 3600),)
    for _ in range(5):
        assert limiter.wait(user, "a", limits) == 0
    assert limiter.take(user, "a", limits).remaining == 1
    assert limiter.wait(user, "a", limits) == 0
    assert limiter.take(user, "a", limits).remaining == 0
    assert 3500 < limiter.wait(user, "a", limits) <= 3600
