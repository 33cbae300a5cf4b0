"""The users of the tests, and their clients of the API.

One account has the owner, who may do everything, and a restricted user. The stranger owns another account.
Staff belong to none.
"""

import gc
import itertools
import signal
from collections.abc import Callable, Generator, Iterator

import hypothesis
import pytest
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.test import TransactionTestCase

from accounts.hashers import PasswordHasher
from accounts.models import Account, User
from config.limits import rates
from tests.client import APIClient
from tests.databases import commit_quickly, empty
from tests.factories import AccountFactory, GlobalGrantsFactory, StaffFactory, UserFactory, token_of
from tests.locks import joined
from tests.world import world

__all__ = ["world"]

_tests = itertools.count(1)

# The time of an example shows how busy the machine is. Fixtures are rows, which examples may share. Each run
# has the same examples: random ones would fail for people who changed something else (`make fuzz` draws
# others).
hypothesis.settings.register_profile(
    "busy",
    hypothesis.settings(),
    deadline=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.function_scoped_fixture],
)
hypothesis.settings.load_profile("busy")


# A process that a script starts in the background ignores Ctrl-C, and its children inherit that.
for _number in (signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)


def pytest_addoption(parser) -> None:
    parser.addoption("--write-baselines", action="store_true", help="write the files that guards compare with")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Drop the output and the log of a test that passed. Nobody sees them.

    Otherwise each process of the run would keep gigabytes of them. ``-rP`` and ``-rA`` keep them.
    """
    report = yield
    if report.passed and not set(item.config.option.reportchars) & set("PA"):
        report.sections.clear()
    if call.when == "teardown":
        item._report_sections.clear()
    return report


def pytest_collection_finish() -> None:
    """Exempt present objects from garbage collection: they stay to the end. Scanning them takes an eighth of
    the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker) -> None:
    """Create the test database as pytest-django does. Its commits do not wait for the disk."""
    with django_db_blocker.unblock():
        commit_quickly(connection.settings_dict["NAME"])
        connection.close()  # the next connection has the setting


@pytest.fixture
def write_baselines(request) -> bool:
    return request.config.getoption("--write-baselines")


@pytest.fixture(scope="session", autouse=True)
def _plenty() -> None:
    """Set high rate limits, so that no test reaches one by accident. Tests of the limits set their own.

    Also wait long for Redis, so that no test counts in memory because Redis was slow for a moment.
    """
    from django.conf import settings

    from config.egress import guard

    guard.sources.clear()  # the hosts are queried once a minute: in any test, also without a database
    rates.CONNECT_WITHIN = rates.ANSWER_WITHIN = 120

    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, "1000000/60")
    settings.LOCK_TIMEOUT = 3600
    settings.TRANSACTION_IDLE_LIMIT = 3600  # a test is one transaction, and may wait for processes
    # no test sends queries to the name servers of the machine
    settings.PROBE_NAMESERVERS, settings.PROBE_DNS_TIMEOUT = ["127.0.0.1@9"], 0.1
    rates.forget()


@pytest.fixture(scope="session", autouse=True)
def _cheap_hashes() -> None:
    """Hash passwords at low cost. At the cost of production, hashing takes half the time of the tests.

    A hash names its cost, so processes that tests start verify it too.
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
    """Truncate all tables after a test that commits, except content types and permissions, which keep their
    ids."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda case: empty())
        yield


@pytest.fixture(autouse=True)
def _own_keys(settings) -> None:
    """Use keys in Redis of the test's own, so that the next test does not see them."""
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
    """A member of the platform's staff, who uses the admin."""
    return StaffFactory(username="staff")


@pytest.fixture
def anonymous(db) -> APIClient:
    """A client without a token."""
    return APIClient()


@pytest.fixture
def client_for(db) -> Callable[..., APIClient]:
    """Return a function that makes a client for a user: ``client_for(owner, "computes:read_only")``."""

    def build(user: User, scopes: str = "*") -> APIClient:
        return APIClient(token_of(user, scopes))

    return build


@pytest.fixture
def api(client_for, owner) -> APIClient:
    """The owner's client."""
    return client_for(owner)
