"""Mails and text messages in the admin: their delivery, sending them again, and never their content."""

from datetime import timedelta

import pytest
from django.core import mail
from django.db import transaction
from django.urls import reverse
from django.utils.timezone import now

from accounts.models import Message, User
from accounts.services import outbox
from accounts.services.users import invite
from tests.config.admin.pages import do, list_address, messages_of, page_address

pytestmark = pytest.mark.django_db
CODE = "836153"


def gateway_down(number: str, text: str) -> None:
    raise ConnectionError(f"Max retries exceeded with url: /send?to={number}&text={text.replace(' ', '+')}")


@pytest.fixture
def message(db) -> Message:
    with transaction.atomic():
        return outbox.text("+4712345678", f"{CODE} is your Skerry verification code.")


def give_up(message: Message) -> None:
    Message.objects.filter(pk=message.pk).update(given_up=True, attempt=24, error="SMTPException: No.")


def listed(admin, **query) -> list[Message]:
    return list(admin.get(list_address(Message), query).context["cl"].result_list)


def test_errors_do_not_contain_texts_of_messages(message, settings, caplog, admin):
    settings.SMS_GATEWAY = "tests.accounts.admin.test_outbox.gateway_down"
    outbox.send_due()
    message.refresh_from_db()
    assert message.error == (
        "ConnectionError: Max retries exceeded with url: "
        "/send?to=+4712345678&text=…+is+your+Skerry+verification+code."
    )
    assert CODE not in caplog.text
    for address in (list_address(Message), page_address(message)):
        text = admin.get(address).content.decode()
        assert "Max retries exceeded" in text
        assert CODE not in text


def test_no_error_repeats_the_address_in_an_invitation(world, settings, monkeypatch):
    user = invite(world.actor, "fresh-face", "fresh@example.com")
    secret = outbox.decrypt_json(Message.objects.get().encrypted)["text"].split("/password/")[1].split()[0]

    def quoting(message, content):
        raise OSError(f"554 blocked: {content['text']}")

    monkeypatch.setattr(outbox, "_deliver_mail", quoting)
    outbox.send_due()
    error = Message.objects.get().error
    assert "554 blocked" in error
    assert user.username in error
    assert secret not in error
    assert secret.split("/")[1] not in error


def test_each_is_listed_by_how_it_goes(admin, message):
    assert listed(admin, now="waiting") == [message]
    assert listed(admin, now="trouble") == []
    Message.objects.filter(pk=message.pk).update(created=now() - timedelta(hours=1))
    assert listed(admin, now="late") == listed(admin, now="trouble") == [message]
    give_up(message)
    assert listed(admin, now="given_up") == listed(admin, now="trouble") == [message]
    assert listed(admin, now="waiting") == listed(admin, now="late") == []
    assert "24 of 24 attempts" in admin.get(page_address(message)).content.decode()
    assert listed(admin, q="+4712") == [message]
    assert listed(admin, q="fresh@example.com") == []


def test_the_index_counts_failed_and_late_messages(admin, message):
    index = reverse("admin:index")
    assert "Mails and messages" not in admin.get(index).content.decode()
    give_up(message)
    assert "Mails and messages: 1 failed, 0 late" in admin.get(index).content.decode()


def test_a_failed_message_can_be_sent_again(admin, world):
    invite(world.actor, "fresh-face", "fresh@example.com")
    message = Message.objects.get()
    give_up(message)
    assert outbox.send_due() == 0
    assert (
        "ten minutes" in admin.post(page_address(message).replace("/change/", "/do/send-again/")).content.decode()
    )
    assert "within seconds" in messages_of(do(admin, message, "send-again"))
    message.refresh_from_db()
    assert (message.attempt, message.given_up) == (0, False)
    assert outbox.send_due() == 1
    assert mail.outbox[0].to == ["fresh@example.com"]


def test_a_message_can_be_deleted_unsent(admin, message):
    assert "deleted unsent" in messages_of(do(admin, message, "discard"))
    assert outbox.send_due() == 0
    assert not Message.objects.exists()


def test_verbs_on_a_sent_message_are_refused(message):
    outbox.discard(message)
    for verb in (outbox.send_again, outbox.discard):
        with pytest.raises(Exception, match="it was sent, or discarded"):
            verb(message)


def test_discarding_needs_the_delete_permission(message, client):
    from django.contrib.auth.models import Permission

    clerk = User.objects.create_user("clerk", "clerk@example.com", is_staff=True)
    names = ("view_message", "change_message")
    clerk.user_permissions.set(Permission.objects.filter(codename__in=names))
    client.force_login(clerk)
    assert do(client, message, "discard").status_code == 403
    assert do(client, message, "send-again").status_code == 200
