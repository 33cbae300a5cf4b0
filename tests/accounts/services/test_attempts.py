"""Limits on attempts, and the messages when a limit is reached."""

from datetime import UTC, datetime

import pytest

from accounts.services import attempts
from config.errors import TooMany

EVENING = datetime(2030, 1, 31, 21, 59, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.2, "1 second, at 21:59:32"),
        (1, "1 second, at 21:59:32"),
        (60, "60 seconds, at 22:00:31"),
        (60.5, "2 minutes, at 22:01"),
        (600, "10 minutes, at 22:10"),
        (7200, "120 minutes, at 2030-02-01 00:00"),
        (7201, "3 hours, at 2030-02-01 00:00"),
        (86_400, "24 hours, at 2030-02-01 22:00"),
    ],
)
def test_the_advice_names_a_time_that_is_not_too_early(monkeypatch, seconds, expected):
    monkeypatch.setattr(attempts, "now", lambda: EVENING)
    assert attempts.advice(seconds) == f"Too many attempts. Try again in {expected} UTC."


def test_an_attempt_beyond_the_limit_says_how_long_it_holds(limit):
    limit(sms="2/600")
    for _ in range(2):
        attempts.check("sms", "user:1")
    with pytest.raises(TooMany) as caught:
        attempts.check("sms", "user:1")
    assert (caught.value.count, 0 < caught.value.seconds <= 600) == (2, True)
    assert str(caught.value).startswith("Too many attempts. Try again in 10 minutes, at ")
    attempts.check("sms", "user:2")


def test_an_attempt_refused_by_one_limit_counts_for_none(limit):
    limit(login_pause="5/60", login="1/60")
    attempts.check_all(("login_pause", "login"), "kari")
    with pytest.raises(TooMany):
        attempts.check_all(("login_pause", "login"), "kari")
    limit(login="5/60")
    for _ in range(4):
        attempts.check_all(("login_pause", "login"), "kari")


def test_pages_count_under_the_limits_of_the_api(limit, api, owner):
    limit(instance_create="2/60")
    for _ in range(2):
        assert api.post("/v4/compute/instances", {}).status_code == 400
    with pytest.raises(TooMany):
        attempts.check_with_api("instance_create", owner.pk, owner.account_id)
