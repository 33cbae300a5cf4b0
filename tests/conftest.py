"""The cast, and the clients that everybody calls the API with.

On one account there are the owner, who may do everything, and a restricted user; the stranger owns another
account; staff belong to none.
"""

import gc
import itertools
import signal
from collections.abc import Callable, Generator, Iterator

import hypothesis
import pytest
from django.db.backends.utils import CursorWrapper
from django.test import TransactionTestCase

from accounts.hashers import PasswordHasher
from accounts.models import Account, User
from config import limits
from tests.client import APIClient
from tests.databases import empty
from tests.factories import AccountFactory, GlobalGrantsFactory, StaffFactory, UserFactory, token_of
from tests.locks import joined
from tests.world import world

__all__ = ["world"]

_tests = itertools.count(1)

# How long an example takes says how busy the machine is. Fixtures are rows, which examples may share. The same
# examples each time: what only some runs find holds up those who changed something else (`make fuzz` draws others).
hypothesis.settings.register_profile(
    "busy",
    hypothesis.settings(),
    deadline=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.function_scoped_fixture],
)
hypothesis.settings.load_profile("busy")


# Whoever is started in the background of a script ignores Ctrl-C, and so would every program that tests start.
for _number in (signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)


def pytest_addoption(parser) -> None:
    parser.addoption("--write-baselines", action="store_true", help="write the files that guards compare with")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep nothing of what a test printed and logged once it has passed: nobody sees it, and each process of the
    run would have gigabytes of it at the end. ``-rP`` and ``-rA`` ask for it."""
    report = yield
    if report.passed and not set(item.config.option.reportchars) & set("PA"):
        report.sections.clear()
    if call.when == "teardown":
        item._report_sections.clear()
    return report


def pytest_collection_finish() -> None:
    """What is there by now stays to the end: looking through all of it for garbage, again and again, would take an
    eighth of the time of the tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@pytest.fixture
def write_baselines(request) -> bool:
    return request.config.getoption("--write-baselines")


@pytest.fixture(scope="session", autouse=True)
def _plenty() -> None:
    """No test runs into a rate limit by accident; those about the limits set their own.

    Nor does one count in memory what it means to count in Redis, because that was slow to answer for once.
    """
    from django.conf import settings

    from config.egress import guard

    guard.sources.clear()  # which hosts there are is asked once a minute: in any test, some without a database
    limits.CONNECT_WITHIN = limits.ANSWER_WITHIN = 120

    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, "1000000/60")
    settings.LOCK_TIMEOUT = 3600
    settings.TRANSACTION_IDLE_LIMIT = 3600  # a test is one transaction, and may wait for processes
    # no test asks the name servers of the machine it runs on
    settings.PROBE_NAMESERVERS, settings.PROBE_DNS_TIMEOUT = ["127.0.0.1@9"], 0.1
    limits.forget()


@pytest.fixture(scope="session", autouse=True)
def _cheap_hashes() -> None:
    """Passwords are hashed as ever, but at little cost: that of production is half the time of the tests.

    A hash names its cost, so that processes which tests start verify it as well.
    """
    PasswordHasher.time_cost, PasswordHasher.memory_cost = 1, 8


@pytest.fixture(scope="session", autouse=True)
def _rows_locked_alone() -> Iterator[None]:
    """Fail statements that lock rows with joins: docs/locking.md says why."""
    execute = CursorWrapper._execute

    def checked(cursor, sql, *parameters):
        if isinstance(sql, str) and " FOR " in sql.replace("\n", " "):
            assert not joined(sql), f"a row is locked together with others: {sql}"
        return execute(cursor, sql, *parameters)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CursorWrapper, "_execute", checked)
        yield


@pytest.fixture(scope="session", autouse=True)
def _lasting_rows() -> Iterator[None]:
    """A test that commits leaves no rows but those of content types and permissions, which keep their numbers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda case: empty())
        yield


@pytest.fixture(autouse=True)
def _own_keys(settings) -> None:
    """What a test leaves in Redis is not there for the next one."""
    settings.REDIS_PREFIX = f"{settings.REDIS_PREFIX}{next(_tests)}:"


@pytest.fixture
def account(db) -> Account:
    return AccountFactory(company="Cast", email="cast@example.com")


@pytest.fixture
def owner(account) -> User:
    """May do everything on the account."""
    return UserFactory(account=account, username="owner")


@pytest.fixture
def restricted(account) -> User:
    """May read the account, and nothing else until granted."""
    return GlobalGrantsFactory(user__account=account, user__username="restricted").user


@pytest.fixture
def stranger(db) -> User:
    """The owner of another account."""
    return UserFactory(username="stranger")


@pytest.fixture
def staff(db) -> User:
    """The platform's own, at home in the admin."""
    return StaffFactory(username="staff")


@pytest.fixture
def anonymous(db) -> APIClient:
    """Calls without a token."""
    return APIClient()


@pytest.fixture
def client_for(db) -> Callable[..., APIClient]:
    """Give a client that calls as a user: ``client_for(owner, "computes:read_only")``."""

    def build(user: User, scopes: str = "*") -> APIClient:
        return APIClient(token_of(user, scopes))

    return build


@pytest.fixture
def api(client_for, owner) -> APIClient:
    """The owner's client."""
    return client_for(owner)
