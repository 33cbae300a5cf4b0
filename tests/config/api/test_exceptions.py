"""Every failure has the same error body."""

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.test import RequestFactory
from rest_framework import exceptions as drf

from compute.models import Instance, Kernel
from config import errors
from config.api import reasons
from config.api.exceptions import answer, flatten, violated
from regions.models import Region
from tests.waiting import wait_for

REQUEST = RequestFactory().get("/v4/regions")


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (errors.Invalid("label is required", "label"), 400, "label is required"),
        (errors.Busy(), 400, "Compute busy."),
        (errors.ScopeLacking("Not with this token"), 401, "Not with this token"),
        (errors.Denied(), 403, "Unauthorized"),
        (errors.Missing(), 404, "Not found"),
        (Kernel.DoesNotExist(), 404, "Not found"),
        (drf.NotAuthenticated(), 401, "Invalid Token"),
        (drf.PermissionDenied(), 403, "Unauthorized"),
        (drf.PermissionDenied("Closed."), 403, "Closed."),
        (drf.MethodNotAllowed("PATCH"), 405, "Method Not Allowed"),
        (drf.Throttled(), 429, "Too many requests"),
        (drf.ParseError("The body is not valid JSON"), 400, "The body is not valid JSON"),
    ],
)
def test_every_kind_of_error_has_its_status(error, status, reason):
    response = answer(error, REQUEST)
    assert response.status_code == status
    assert reason in response.content.decode()


def test_a_domain_error_reports_all_its_problems():
    error = errors.Invalid.of([errors.Problem("a is required", "a"), errors.Problem("b is required", "b")])
    assert answer(error, REQUEST).content == (
        b'{"errors":[{"field":"a","reason":"a is required"},{"field":"b","reason":"b is required"}]}'
    )


def test_nested_errors_become_dotted_paths():
    detail = {
        "ssh": {"port": ["x"]},
        "interfaces": [{}, {"ipam_address": ["y"]}],
        "tags": {2: ["z"]},
        "a": ["1", "2"],
    }
    assert [(item["field"], item["reason"]) for item in flatten(detail)] == [
        ("ssh.port", "x"), ("interfaces[1].ipam_address", "y"), ("tags[2]", "z"), ("a", "1"), ("a", "2"),
    ]  # fmt: skip


@pytest.mark.django_db(transaction=True)
def test_a_reference_to_a_row_deleted_meanwhile_is_answered_400(world):
    made = Instance.objects.filter(pk=world.create(label="web").pk)
    with pytest.raises(IntegrityError) as raised, transaction.atomic():
        made.update(image="compute/gone")
    response = answer(raised.value, REQUEST)
    assert response.status_code == 400
    assert b"deleted at the same time" in response.content


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_was_taken_from_a_process_that_stood_still_is_no_failure_of_ours():
    watching = connection.copy()

    def stand_still() -> None:
        with transaction.atomic(), connection.cursor() as cursor, watching.cursor() as others:
            pid = connection.connection.info.backend_pid
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 1")
            there = "SELECT FROM pg_stat_activity WHERE pid = %s"
            wait_for(lambda: others.execute(there, [pid]) or others.fetchone() is None)
            cursor.execute("SELECT 1")

    with pytest.raises(DatabaseError) as raised:
        stand_still()
    watching.close()
    connection.close()
    response = answer(raised.value, REQUEST)
    assert response.status_code == 503
    # The server's last words are lost when its end of a TCP connection closes first.
    assert any(reason.encode() in response.content for reason in (reasons.UNAVAILABLE, reasons.MAY_BE_MADE))


@pytest.mark.django_db
def test_a_unique_violation_reads_as_its_constraint_says(world):
    world.create(label="web")
    from compute.models import Instance

    first = Instance.objects.get(label="web")
    first.pk = None
    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        first.save()
    assert violated(refused.value) == {
        "field": "label",
        "reason": "Label must be unique among your computes",
    }


@pytest.mark.django_db
def test_a_violation_without_words_is_a_defect_and_answers_500():
    Region.objects.create(id="us-east", country="us")
    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        Region.objects.create(id="us-east", country="us")
    assert violated(refused.value) is None
    assert answer(refused.value, REQUEST).status_code == 500
