"""The benchmark's keys in Redis: counters of the rate limits, and notifications that nobody receives."""

import os

import redis

PREFIX = "skerry-bench:"


def forget() -> None:
    """Delete the benchmark's keys, and no others in the same Redis."""
    with redis.Redis.from_url(os.environ["REDIS_URL"]) as client:
        for key in client.scan_iter(f"{PREFIX}*", count=1000):
            client.unlink(key)
