"""Tickets in the admin: those that wait for support, their texts, answers, and files of customers."""

import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.timezone import now

from accounts.actors import Actor
from accounts.models import Event, Message, Ticket, TicketAttachment, TicketReply, User
from accounts.services import tickets
from accounts.services.tickets import TicketSpec, path_of
from tests.config.admin.pages import do, list_address, messages_of, page_address
from tests.factories import AccountFactory, TicketFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def support(world, staff) -> Actor:
    return Actor(world.account.pk, staff.pk, staff.username, is_staff=True)


@pytest.fixture
def ticket(world, running) -> Ticket:
    return tickets.open_ticket(
        world.actor, TicketSpec("No light", "It is <dark>.\n\nReally.", {"compute_id": running.pk})
    )


def listed(admin, **query) -> list[Ticket]:
    return list(admin.get(list_address(Ticket), query).context["cl"].result_list)


def test_the_page_has_the_conversation_in_order(admin, world, ticket, support, running):
    tickets.reply(support, ticket, "Is the lamp on?")
    tickets.attach(world.actor, ticket, SimpleUploadedFile("lamp.txt", b"on"))
    tickets.reply(world.actor, ticket, "See the file.")
    text = admin.get(page_address(ticket)).content.decode()
    parts = ["It is &lt;dark&gt;.\n\nReally.", "Is the lamp on?", "lamp.txt", "See the file."]
    assert [part in text for part in parts] == [True] * 4
    assert sorted(parts, key=text.index) == parts
    assert page_address(running) in text
    assert page_address(User.objects.get(username="worldowner")) in text


def test_a_reply_opens_the_ticket_and_is_mailed_and_logged(admin, ticket):
    page = admin.get(page_address(ticket)).content.decode()
    assert "worldowner gets a mail at world@example.com." in page
    response = do(admin, ticket, "reply", description="Is the lamp on?")
    ticket.refresh_from_db()
    reply = TicketReply.objects.get()
    assert (ticket.status, ticket.updated_by) == ("open", "staff")
    assert (reply.description, reply.created_by, reply.from_staff) == ("Is the lamp on?", "staff", True)
    assert Message.objects.get().recipient == "world@example.com"
    assert Event.objects.filter(action="ticket_update", username="staff", entity_id=ticket.pk).count() == 1
    assert "worldowner gets a mail; the ticket is open" in messages_of(response)
    assert "Is the lamp on?" not in LogEntry.objects.get().change_message


def test_a_reply_may_close_it(admin, ticket):
    do(admin, ticket, "reply", description="Done.", close="on")
    ticket.refresh_from_db()
    assert ticket.status == "closed"
    assert ticket.closed is not None
    assert Message.objects.count() == 1


def test_users_without_mail_notifications_get_no_mail_and_the_page_says_so(admin, ticket):
    User.objects.filter(username="worldowner").update(email_notifications=False)
    assert "Nobody gets a mail" in admin.get(page_address(ticket)).content.decode()
    do(admin, ticket, "reply", description="Done.")
    assert not Message.objects.exists()


def test_a_reply_that_is_refused_keeps_its_words(admin, ticket, support):
    tickets.close(support, ticket)
    text = do(admin, ticket, "reply", description="A long answer.").content.decode()
    assert "This ticket is closed." in text
    assert "A long answer." in text
    assert not TicketReply.objects.exists()
    assert "refused" in LogEntry.objects.get().change_message


def test_an_empty_reply_says_nothing(admin, ticket):
    assert "This field is required." in do(admin, ticket, "reply", description=" ").content.decode()
    assert not TicketReply.objects.exists()


def test_a_closed_ticket_has_no_form_to_reply(admin, ticket):
    assert admin.get(page_address(ticket)).context["open_forms"]
    asked = admin.post(page_address(ticket).replace("/change/", "/do/close/"))
    assert "cannot be opened again" in asked.content.decode()
    do(admin, ticket, "close")
    ticket.refresh_from_db()
    assert ticket.status == "closed"
    assert not admin.get(page_address(ticket)).context["open_forms"]
    do(admin, ticket, "close")
    assert Event.objects.filter(message="The ticket was closed.").count() == 1


def test_support_keeps_a_ticket_open(admin, world, ticket):
    do(admin, ticket, "keep-open")
    ticket.refresh_from_db()
    assert not ticket.closable
    event = Event.objects.filter(action="ticket_update", username="staff").get()
    assert event.message == "This ticket can only be closed by support."
    with pytest.raises(Exception, match="only be closed by support"):
        tickets.close(world.actor, ticket)
    assert "already has this setting" in messages_of(do(admin, ticket, "keep-open"))
    do(admin, ticket, "let-close")
    tickets.close(world.actor, ticket)
    assert "closed" in messages_of(do(admin, ticket, "keep-open"))


class TestWhoWaits:
    def test_a_ticket_waits_until_support_has_the_last_word(self, admin, world, ticket, support):
        assert listed(admin, now="waiting") == [ticket]
        tickets.reply(world.actor, ticket, "Still dark.")
        assert listed(admin, now="waiting")[0].waiting == ticket.opened
        tickets.reply(support, ticket, "Is the lamp on?")
        assert listed(admin, now="waiting") == []
        assert listed(admin, now="answered") == [ticket]
        again = tickets.reply(world.actor, ticket, "It is.")
        tickets.reply(world.actor, ticket, "Hello?")
        assert listed(admin, now="waiting")[0].waiting == again.created
        tickets.close(support, ticket)
        assert listed(admin, now="waiting") == listed(admin, now="live") == []
        assert listed(admin) == [ticket]

    def test_a_file_is_an_answer_too(self, admin, world, ticket, support):
        tickets.reply(support, ticket, "Show us.")
        tickets.attach(world.actor, ticket, SimpleUploadedFile("lamp.txt", b"on"))
        assert listed(admin, now="waiting") == [ticket]

    def test_the_longest_waiting_come_first(self, admin, ticket):
        older = TicketFactory(account=ticket.account)
        Ticket.objects.filter(pk=older.pk).update(opened=now() - timedelta(hours=5))
        assert listed(admin, now="waiting") == [older, ticket]

    def test_the_index_says_how_many_and_how_long(self, admin, ticket):
        index = reverse("admin:index")
        Ticket.objects.update(opened=now() - timedelta(hours=5, minutes=1))
        page = admin.get(index).content.decode()
        assert "Tickets that wait for support: 1, the first for 5 h 1 min" in page
        assert f"{list_address(Ticket)}?now=waiting" in page
        do(admin, ticket, "reply", description="We look.")
        assert "Tickets that wait" not in admin.get(index).content.decode()

    @pytest.mark.parametrize(("hours", "tone"), [(1, "quiet"), (25, "bad")])
    def test_tickets_that_wait_for_more_than_a_day_are_red(self, admin, ticket, hours, tone):
        Ticket.objects.update(opened=now() - timedelta(hours=hours))
        page = admin.get(reverse("admin:index")).content.decode()
        assert re.search(rf'class="{tone}"[^>]*>\s*<a [^>]*>Tickets that wait', page)

    def test_the_index_tells_only_those_who_may_see_tickets(self, ticket, client):
        client.force_login(User.objects.create_user("newcomer", "new@example.com", is_staff=True))
        assert "Tickets that wait" not in client.get(reverse("admin:index")).content.decode()


@pytest.mark.parametrize("word", ["no li", "worldowner", "world@", "WORLD", "web-1"])
def test_a_ticket_is_found(word, admin, ticket):
    TicketFactory(summary="Else", account=AccountFactory(company="Other"), opened_by="other")
    assert listed(admin, q=word) == [ticket]
    assert listed(admin, q=str(ticket.pk)) == [ticket]


class TestFiles:
    @pytest.fixture
    def file(self, world, ticket) -> TicketAttachment:
        return tickets.attach(world.actor, ticket, SimpleUploadedFile("lämp <b>.txt", b"<script>on</script>"))

    def address(self, file: TicketAttachment) -> str:
        return page_address(file.ticket).replace("/change/", f"/attachments/{file.key}/")

    def test_a_file_is_downloaded_and_never_shown(self, admin, file):
        assert self.address(file) in admin.get(page_address(file.ticket)).content.decode()
        answer = admin.get(self.address(file))
        assert b"".join(answer.streaming_content) == b"<script>on</script>"
        assert answer["Content-Disposition"].startswith("attachment; filename*=utf-8''l%C3%A4mp")
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"
        assert answer["Content-Type"] == "text/plain"
        assert "no-store" in answer["Cache-Control"]

    def test_staff_need_the_permission_to_see_tickets(self, onlooker, outsider, client, file):
        assert onlooker.get(self.address(file)).status_code == 200
        for browser in (outsider, client):
            assert "/admin/login/" in browser.get(self.address(file))["Location"]
        client.force_login(User.objects.create_user("newcomer", "new@example.com", is_staff=True))
        assert client.get(self.address(file)).status_code == 403

    def test_it_is_found_at_its_own_ticket_only(self, admin, file):
        other = TicketFactory(account=file.ticket.account)
        wrong = self.address(file).replace(f"/{file.ticket.pk}/", f"/{other.pk}/")
        assert admin.get(wrong).status_code == 404
        assert admin.get(self.address(file).replace(str(file.key), str(uuid4()))).status_code == 404

    def test_a_file_on_another_host_has_a_message(self, admin, file):
        path_of(file).unlink()
        answer = admin.get(self.address(file), follow=True)
        assert "is not on this machine" in messages_of(answer)


def test_the_list_costs_the_same_however_long(admin, ticket):
    admin.get(list_address(Ticket))
    with CaptureQueriesContext(connection) as few:
        admin.get(list_address(Ticket))
    for _ in range(5):
        TicketFactory(entity_type="compute", entity_id="1", entity_label="x")
    with CaptureQueriesContext(connection) as many:
        admin.get(list_address(Ticket))
    assert len(many) == len(few)
