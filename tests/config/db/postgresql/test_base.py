"""Lost connections: before a transaction they are replaced, and after a lost COMMIT the answer is true."""

from collections.abc import Callable, Iterator

import orjson
import pytest
from django.core.signals import request_finished
from django.db import OperationalError, connection, transaction

from accounts.actors import Actor
from accounts.models import Account, Event, User
from accounts.services.events import record_event
from compute.models import Instance
from config.api import reasons
from config.api.exceptions import answer
from config.db import prepared
from config.db.freeze_detector import freeze_detector
from config.db.postgresql.base import CommitUnknown
from config.web.error_pages import server_error
from tests.client import APIClient, errors
from tests.cutting import Cut, Proxy, proxied
from tests.lost_connections import administrator, end_all
from tests.world import World

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with proxied() as proxy:
        yield proxy


def session() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]


def end() -> None:
    with administrator() as own:
        assert end_all(own) > 0


def in_turn(*steps: Callable[[], object]) -> None:
    for step in steps:
        step()


def test_a_connection_is_kept_while_it_works():
    first = session()
    with transaction.atomic():
        assert session() == first
    assert session() == first
    assert prepared.fetch_ordinarily("SELECT pg_backend_pid()", (), 60) == [(first,)]


def test_an_ended_connection_is_replaced_before_statements_and_transactions():
    session()
    end()
    User.objects.count()
    end()
    with transaction.atomic():
        User.objects.count()
    end()
    assert prepared.fetch_ordinarily("SELECT 1", (), 60) == [(1,)]


def test_a_connection_lost_in_a_transaction_rolls_it_back():
    with pytest.raises(OperationalError), transaction.atomic():
        in_turn(session, end, User.objects.count)
    assert User.objects.count() == 0


def create(api: APIClient, world: World):
    return api.post("/v4/compute/instances", {"region": world.region.pk, "type": world.type.pk, "label": "one"})


def labels() -> list[str]:
    return list(Instance.objects.values_list("label", flat=True))


def test_a_create_whose_commit_arrived_is_answered_as_ever(client_for, owner, world, proxy):
    api = client_for(owner)
    proxy.cut = Cut.AFTER
    answer = create(api, world)
    assert (proxy.cut, answer.status_code, answer.json()["label"]) == (None, 200, "one")
    assert labels() == ["one"]


def test_a_create_whose_commit_did_not_arrive_changed_nothing_and_can_be_sent_again(
    client_for, owner, world, proxy
):
    api = client_for(owner)
    proxy.cut = Cut.BEFORE
    answer = create(api, world)
    assert (proxy.cut, answer.status_code, answer["Retry-After"]) == (None, 503, "5")
    assert errors(answer, 503) == {None: reasons.UNAVAILABLE}
    assert labels() == []
    assert create(api, world).status_code == 200
    assert labels() == ["one"]


def test_the_answer_after_a_lost_commit_is_true(client_for, owner, world, proxy):
    api = client_for(owner)
    proxy.cut = Cut.MEANWHILE
    answer = create(api, world)
    assert proxy.cut is None
    assert labels() == (["one"] if answer.status_code == 200 else [])
    assert ("Retry-After" in answer) == (answer.status_code == 503)


def test_if_the_database_is_away_the_reason_says_that_the_change_may_have_been_made(
    client_for, owner, world, proxy
):
    api = client_for(owner)
    proxy.cut, proxy.away_after_cut = Cut.AFTER, True
    answer = create(api, world)
    assert errors(answer, 503) == {None: reasons.MAY_BE_MADE}
    assert "Retry-After" not in answer


def note(account_id: int) -> None:
    record_event(Actor.platform(account_id), "account_update")


def test_hooks_run_once_after_a_commit_that_arrived_and_the_connection_works(account, proxy):
    done = []
    proxy.cut = Cut.AFTER
    with transaction.atomic():
        note(account.pk)
        transaction.on_commit(lambda: done.append(Event.objects.count()))
    assert (proxy.cut, done, Event.objects.count()) == (None, [1], 1)
    with transaction.atomic():
        note(account.pk)
    assert (done, Event.objects.count()) == ([1], 2)


def test_no_hook_runs_after_one_that_did_not(account, proxy):
    done = []
    proxy.cut = Cut.BEFORE
    with pytest.raises(OperationalError) as lost, transaction.atomic():
        in_turn(lambda: note(account.pk), lambda: transaction.on_commit(lambda: done.append(1)))
    assert not isinstance(lost.value, CommitUnknown)
    with transaction.atomic():
        Event.objects.count()
    assert (done, Event.objects.count()) == ([], 0)


def test_a_session_that_was_ended_before_its_commit_changed_nothing(account):
    with pytest.raises(OperationalError) as lost, transaction.atomic():
        in_turn(lambda: note(account.pk), end)
    assert not isinstance(lost.value, CommitUnknown)
    assert Event.objects.count() == 0


@pytest.mark.parametrize("before", [True, False])
def test_a_change_without_a_known_transaction_may_have_been_made(account, proxy, before):
    """No statement returned the id of this transaction. An earlier transaction's id proves nothing."""
    if before:
        with transaction.atomic():
            note(account.pk)
    proxy.cut = Cut.AFTER
    with pytest.raises(CommitUnknown), transaction.atomic():
        User.objects.create_user("new", "new@example.com")
    assert User.objects.count() == 1


def test_a_silent_database_is_not_asked(account, proxy, monkeypatch):
    monkeypatch.setattr(freeze_detector, "is_frozen", True)
    proxy.cut = Cut.AFTER
    with pytest.raises(CommitUnknown), transaction.atomic():
        note(account.pk)


def test_a_session_that_does_not_notice_is_ended_before_it_is_judged(account):
    """As behind a proxy that lost the client and keeps the server's connection."""
    with transaction.atomic():
        note(account.pk)
        transaction_id = connection.transaction_id
        asking = connection.copy()
        try:
            assert asking._status_of(transaction_id) == "aborted"
        finally:
            asking.close()
        connection.close()
    assert Event.objects.count() == 0


def test_pages_say_it_too(rf, monkeypatch):
    request = rf.get("/home", HTTP_ACCEPT="text/html")
    try:
        raise CommitUnknown("lost")
    except CommitUnknown:
        answer = server_error(request)
    assert answer.status_code == 503
    assert reasons.MAY_BE_MADE in answer.content.decode()
    assert "Retry-After" not in answer


def test_an_error_after_a_commit_of_the_request_says_nothing_of_the_change(rf, account):
    """As when the answer is read after the change was made. A client that repeats the request would change
    twice."""
    request = rf.post("/v4/tags")
    lost = OperationalError("the connection was lost")
    request_finished.send(None)  # fixtures committed too
    before = answer(lost, request)
    with transaction.atomic():
        Account.objects.filter(pk=account.pk).update(company="Changed")
    after = answer(lost, request)
    request_finished.send(None)
    assert answer(lost, request).headers["Retry-After"] == before.headers["Retry-After"]
    assert (after.status_code, "Retry-After" in after.headers) == (503, False)
    assert orjson.loads(after.content)["errors"][0]["reason"] == reasons.MAY_BE_MADE
