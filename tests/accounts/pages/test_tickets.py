"""Pages of support tickets: open, reply, attach a file, close."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import Event, GlobalGrants, Ticket
from accounts.services import tickets
from compute.models import VLAN
from tests.accounts.pages.browsers import careful, problems, sign_in
from tests.accounts.signing_in import words
from tests.factories import (
    ConfigFactory,
    DomainFactory,
    GrantFactory,
    InstanceFactory,
    RegionFactory,
    TicketFactory,
    VolumeFactory,
)

pytestmark = pytest.mark.django_db
LIST, NEW = "/home/tickets", "/home/tickets/new"
GOOD = {"summary": "It is slow", "description": "Since noon.", "about": ""}


def page_of(ticket: Ticket, page: str = "") -> str:
    return f"/home/tickets/{ticket.pk}{page}"


def actions() -> list[str]:
    return [event.action for event in Event.objects.order_by("pk")]


@pytest.fixture
def ticket(account) -> Ticket:
    return TicketFactory(account=account, summary="It is slow", description="Since <b>noon</b>.")


class TestOpening:
    def test_a_ticket_is_opened_and_shown(self, browser, account):
        answer = browser.post(NEW, GOOD, follow=True)
        made = Ticket.objects.get()
        assert answer.request["PATH_INFO"] == page_of(made)
        assert (made.account, made.summary, made.opened_by) == (account, "It is slow", "owner")
        assert "Since noon." in words(answer)
        assert "It is slow" in words(browser.get(LIST))
        assert actions() == ["ticket_create"]

    def test_it_can_be_about_an_object_that_the_user_sees(self, browser, account):
        volume = VolumeFactory(account=account, label="files")
        DomainFactory(label="theirs.example")
        page = browser.get(NEW).content.decode()
        assert f'<option value="volume:{volume.pk}">files</option>' in page
        assert "theirs.example" not in page
        browser.post(NEW, GOOD | {"about": f"volume:{volume.pk}"})
        made = Ticket.objects.get()
        assert (made.entity_type, made.entity_label) == ("volume", "files")

    @pytest.mark.parametrize(("length", "status"), [(64, 302), (65, 200)])
    def test_a_long_summary_is_refused_and_never_cut(self, browser, length, status):
        assert "maxlength" not in str(browser.get(NEW).context["form"]["summary"])
        answer = browser.post(NEW, GOOD | {"summary": "x" * length})
        assert answer.status_code == status
        assert status == 302 or problems(answer, "summary") == "Length must be 1-64 characters"
        assert Ticket.objects.count() == (status == 302)

    def test_it_links_to_its_object(self, browser, account):
        volume = VolumeFactory(account=account, label="files")
        browser.post(NEW, GOOD | {"about": f"volume:{volume.pk}"})
        link = f'<a href="/home/volumes/{volume.pk}">files</a>'
        pages = [browser.get(page).content.decode() for page in (LIST, page_of(Ticket.objects.get()))]
        assert [link in page for page in pages] == [True, True]
        volume.delete()
        pages = [browser.get(page).content.decode() for page in (LIST, page_of(Ticket.objects.get()))]
        assert [link in page for page in pages] == [False, False]
        assert ["files" in page for page in pages] == [True, True]

    def test_a_vlan_is_named_by_region_and_label(self, browser, account):
        region = RegionFactory()
        instance = InstanceFactory(account=account, region=region)
        ConfigFactory(instance=instance, interfaces=[{"purpose": "vlan", "label": "inside"}])
        VLAN.objects.create(account=account, region=region, label="inside")
        browser.post(NEW, GOOD | {"about": f"vlan:{region.pk}/inside"})
        assert Ticket.objects.get().entity_label == "inside"
        assert '<a href="/home/vlans">inside</a>' in browser.get(LIST).content.decode()

    def test_a_restricted_user_sees_only_the_objects_with_a_grant(self, browser, restricted):
        account, region = restricted.account, RegionFactory()
        instance = InstanceFactory(account=account, region=region)
        ConfigFactory(instance=instance, interfaces=[{"purpose": "vlan", "label": "inside"}])
        VLAN.objects.create(account=account, region=region, label="inside")
        volume = VolumeFactory(account=account, label="files", instance=instance)
        for about in (f"volume:{volume.pk}", f"vlan:{region.pk}/inside"):
            browser.post(NEW, GOOD | {"about": about})
        theirs = sign_in("restricted", restricted)
        pages = [LIST, *map(page_of, Ticket.objects.order_by("pk"))]
        shown = "".join(theirs.get(page).content.decode() for page in pages)
        assert "It is slow" in shown
        for hidden in (">files<", ", about", "inside"):
            assert hidden not in shown
        GrantFactory(user=restricted, entity_type="volume", entity_id=volume.pk)
        GrantFactory(user=restricted, entity_id=instance.pk)
        shown = "".join(theirs.get(page).content.decode() for page in pages)
        assert shown.count(f'<a href="/home/volumes/{volume.pk}">files</a>') == 2
        assert shown.count('<a href="/home/vlans">inside</a>') == 2

    @pytest.mark.parametrize(
        ("wrong", "field", "reason"),
        [
            ({"summary": ""}, "summary", "Summary is required"),
            ({"summary": "x" * 65}, "summary", "Length must be 1-64 characters"),
            ({"description": ""}, "description", "Description is required"),
            ({"about": "volume:77"}, "about", "About is not valid"),
            ({"about": "volume:x"}, "about", "About is not valid"),
            ({"about": "image:private/1"}, "about", "About is not valid"),
            ({"about": "nothing"}, "about", "About is not valid"),
            ({"about": "vlan:us-none/inside"}, "about", "About is not valid"),
        ],
    )
    def test_each_reason_is_shown_at_its_field(self, browser, wrong, field, reason):
        assert reason in problems(browser.post(NEW, GOOD | wrong), field)
        assert not Ticket.objects.exists()

    def test_pages_and_the_api_share_the_limit(self, browser, owner, client_for, limit):
        limit(ticket_create="2/60")
        client_for(owner).post("/v4/support/tickets", {"summary": "a", "description": "b"})
        assert browser.post(NEW, GOOD).status_code == 302
        answer = browser.post(NEW, GOOD)
        assert answer.status_code == 429
        assert Ticket.objects.count() == 2

    def test_a_link_fills_the_form(self, browser):
        page = browser.get(f"{NEW}?summary=Higher+quotas&description=Please")
        assert 'value="Higher quotas"' in page.content.decode()


class TestConversation:
    def test_texts_are_shown_as_texts_with_their_authors(self, browser, ticket):
        ticket.replies.create(description="We look at it.", created_by="support", from_staff=True)
        page = browser.get(page_of(ticket)).content.decode()
        assert "Since &lt;b&gt;noon&lt;/b&gt;." in page
        assert "We look at it." in page
        assert page.index("Since") < page.index("We look at it.")
        assert ">Support <" in page

    def test_a_reply_is_added(self, browser, ticket):
        answer = browser.post(page_of(ticket, "/reply"), {"description": "Thank you."}, follow=True)
        assert answer.request["PATH_INFO"] == page_of(ticket)
        [added] = ticket.replies.all()
        assert (added.description, added.created_by, added.from_staff) == ("Thank you.", "owner", False)
        assert actions() == ["ticket_update"]

    def test_an_empty_reply_is_refused_at_its_field(self, browser, ticket):
        answer = browser.post(page_of(ticket, "/reply"), {"description": ""})
        assert problems(answer, "description") == '"Your reply" is required'
        assert not ticket.replies.exists()

    def test_a_ticket_is_closed_and_takes_no_reply_then(self, browser, ticket):
        assert browser.post(page_of(ticket, "/close"))["Location"] == page_of(ticket)
        ticket.refresh_from_db()
        assert ticket.status == Ticket.Status.CLOSED
        page = words(browser.get(page_of(ticket)))
        assert "open a new ticket" in page
        assert "Send reply" not in page
        answer = browser.post(page_of(ticket, "/reply"), {"description": "One more."})
        assert tickets.CLOSED in words(answer)
        assert not ticket.replies.exists()

    def test_a_ticket_that_support_keeps_open_has_no_button_to_close_it(self, browser, ticket):
        Ticket.objects.update(closable=False)
        assert "Close the ticket" not in words(browser.get(page_of(ticket)))
        browser.post(page_of(ticket, "/close"))
        assert tickets.NOT_CLOSABLE in words(browser.get(page_of(ticket)))
        ticket.refresh_from_db()
        assert ticket.status != Ticket.Status.CLOSED


class TestFiles:
    @pytest.fixture(autouse=True)
    def folder(self, settings, tmp_path):
        settings.ATTACHMENTS_DIR = tmp_path

    def test_a_file_is_attached_and_downloaded(self, browser, ticket):
        sent = {"file": SimpleUploadedFile("log.txt", b"<script>alert(1)</script>")}
        assert browser.post(page_of(ticket, "/files/new"), sent)["Location"] == page_of(ticket)
        kept = ticket.attachments.get()
        page = browser.get(page_of(ticket)).content.decode()
        path = page_of(ticket, f"/files/{kept.key}")
        assert f'<a href="{path}">log.txt</a>' in page
        answer = browser.get(path)
        assert b"".join(answer.streaming_content) == b"<script>alert(1)</script>"
        assert answer["Content-Disposition"] == 'attachment; filename="log.txt"'
        assert "sandbox" in answer["Content-Security-Policy"]

    @pytest.mark.parametrize(
        ("file", "reason"),
        [
            (None, "File is required"),
            (("a.exe", b"x"), "File must be one of"),
            (("a.txt", b""), "not empty"),
        ],
    )
    def test_each_reason_is_shown_at_the_field(self, browser, ticket, file, reason):
        sent = {"file": SimpleUploadedFile(*file)} if file else {}
        assert reason in problems(browser.post(page_of(ticket, "/files/new"), sent), "file")
        assert not ticket.attachments.exists()

    def test_a_file_that_is_missing_on_the_disk_is_not_found(self, browser, ticket):
        browser.post(page_of(ticket, "/files/new"), {"file": SimpleUploadedFile("a.txt", b"x")})
        kept = ticket.attachments.get()
        tickets.path_of(kept).unlink()
        assert browser.get(page_of(ticket, f"/files/{kept.key}")).status_code == 404


class TestWhoMay:
    @pytest.mark.parametrize(("access", "reads", "writes"), [(None, 403, 403), ("read_only", 200, 403)])
    def test_a_restricted_user_needs_access_to_the_account(self, restricted, access, reads, writes):
        GlobalGrants.objects.filter(user=restricted).update(account_access=access)
        ticket = TicketFactory(account=restricted.account)
        browser = sign_in("restricted", restricted)
        for path in (LIST, page_of(ticket)):
            assert browser.get(path).status_code == reads
        assert browser.get(NEW).status_code == writes
        for path in (NEW, page_of(ticket, "/reply"), page_of(ticket, "/close"), page_of(ticket, "/files/new")):
            assert browser.post(path, GOOD).status_code == writes
        if reads == 200:
            assert "Send reply" not in words(browser.get(page_of(ticket)))

    def test_tickets_of_others_are_not_found(self, browser):
        theirs = TicketFactory()
        for path in ("", "/files/new", "/files/6d9bb4a0-0a7b-4f0c-8a70-6f3f1a3cf0a0"):
            assert browser.get(page_of(theirs, path)).status_code == 404
        assert browser.post(page_of(theirs, "/close")).status_code == 404
        assert theirs.summary not in words(browser.get(LIST))

    def test_the_page_of_a_ticket_takes_no_form(self, browser, ticket):
        assert browser.post(page_of(ticket), {"description": "x"}).status_code == 405
        assert not ticket.replies.exists()

    def test_a_form_of_another_site_opens_nothing(self, browser):
        assert careful(browser).post(NEW, GOOD).status_code == 403
        assert not Ticket.objects.exists()
