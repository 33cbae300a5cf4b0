"""Staff resend messages that a worker has claimed. How workers share messages is tested in the tests of leases."""

import pytest
from django.core import mail
from django.db import transaction
from django.db.models.functions import Now

from accounts.models import Message
from accounts.services import outbox

pytestmark = pytest.mark.django_db


@pytest.fixture
def message(owner) -> Message:
    """Create a message that is due for its last attempt."""
    with transaction.atomic():
        message = outbox.mail(owner, "external_tied", {"provider": "Example ID", "label": "kari"})
    Message.objects.update(attempt=23)
    return message


@pytest.fixture
def meanwhile(message, monkeypatch) -> list[str]:
    """Let staff resend the message while a worker sends it. A text added to the list is raised once as an error."""
    errors: list[str] = []
    deliver = outbox._deliver_mail

    def delivering(claimed: Message, content: dict[str, str]) -> None:
        outbox.send_again(message)
        assert outbox.send_due() == 0, "it is in hand"
        if errors:
            raise ConnectionError(errors.pop())
        deliver(claimed, content)

    monkeypatch.setattr(outbox, "_deliver_mail", delivering)
    return errors


def test_a_message_resent_while_it_is_sent_goes_out_once(meanwhile):
    assert outbox.send_due() == 1
    assert len(mail.outbox) == 1
    assert not Message.objects.exists()


def test_a_message_resent_while_it_fails_is_retried_at_once(meanwhile):
    meanwhile.append("The gateway is down.")
    assert outbox.send_due() == 1, "the second time"
    assert len(mail.outbox) == 1
    assert not Message.objects.exists()


def test_a_message_is_given_up_after_its_last_try(message, monkeypatch):
    monkeypatch.setattr(outbox, "_deliver_mail", lambda claimed, content: 1 / 0)
    assert outbox.send_due() == 0
    message.refresh_from_db()
    assert (message.attempt, message.given_up, message.lease_until) == (24, True, None)


def test_a_claimed_message_is_not_due_for_the_previous_release(message):
    """During an upgrade, workers of the previous release run too. They select messages by `run_at` alone."""
    assert outbox.claim() == message
    assert not Message.objects.filter(given_up=False, run_at__lte=Now()).exists()
