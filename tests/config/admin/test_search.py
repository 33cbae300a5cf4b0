"""One search finds everything, by any name that a customer, a log or a colleague may use."""

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Account, Event, Login, TicketReply, User
from compute.models import Address, Host, Instance, IPv6Range, Job
from compute.services.removal import remove
from config.admin import search
from tests.config.admin.pages import page_address
from tests.factories import TicketFactory, VolumeFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def patience(monkeypatch) -> None:
    """Give the database time to answer, on a busy machine too."""
    for name in ("EXACT_SECONDS", "LOOSE_SECONDS", "LOOSE_BUDGET"):
        monkeypatch.setattr(search, name, 600.0)


def found(browser: Client, text: str) -> dict[str, list[str]]:
    """Return the addresses of the pages that a search finds, by kind."""
    page = browser.get(reverse("admin:search"), {"q": text})
    assert page.status_code == 200
    return {group.title: [row.link.address for row in group.rows] for group in page.context["groups"]}


def test_an_instance_is_found_by_all_that_names_it(admin, running, world):
    address = Address.objects.filter(instance=running, public=True).get()
    Address.objects.filter(pk=address.pk).update(rdns="mail.example.org")
    for text in (str(running.pk), "web-1", "eb-", "WEB", "production", address.address):
        assert page_address(running) in found(admin, text)["Instances"], text
    for text in (address.address, "mail.example.org", "MAIL.example.org", "l.example"):
        assert found(admin, text)["Addresses"] == [page_address(address)], text


def test_an_instance_is_found_by_names_that_the_platform_gives(admin, running, settings):
    address = Address.objects.filter(instance=running, public=True).get()
    name = f"{address.address.replace('.', '-')}.{settings.PLATFORM_DOMAIN}"
    for text in (f"skerry-{running.pk}", name, name.upper(), f"{name}."):
        assert found(admin, text)["Instances"] == [page_address(running)], text
    assert found(admin, name)["Addresses"] == [page_address(address)]
    for text in ("skerry-0", f"skerry-{10**19}", name.replace("-", "--"), f"x.{name}"):
        assert "Instances" not in found(admin, text), text


def test_an_ipv6_address_is_found_in_any_spelling_and_within_its_range(admin, everything):
    block = IPv6Range.objects.get(range="2001:db8:5000::", prefix=64)
    for text in ("2001:db8:5000::", "2001:DB8:5000:0:0::7", "2001:0db8:5000:0000::ffff", "[2001:db8:5000::1]"):
        groups = found(admin, text)
        assert groups["IPv6 ranges"] == [page_address(block)], text
        assert groups["Instances"] == [page_address(everything)], text
        assert groups["Address pools"] == [page_address(block.pool)], text
    assert "IPv6 ranges" not in found(admin, "2001:db8:5000:1::1")


def test_an_instance_is_found_by_the_address_that_follows_from_its_id(admin, running):
    own = running.ipv6.partition("/")[0]
    assert found(admin, own.upper())["Instances"] == [page_address(running)]


def test_people_are_found_by_name_and_email_and_where_they_came_from(admin, owner):
    login = Login.objects.create(
        account=owner.account, user=owner, username=owner.username, restricted=False, ip="203.0.113.77"
    )
    assert page_address(owner) in found(admin, owner.username.upper())["Users"]
    groups = found(admin, owner.email)
    assert page_address(owner) in groups["Users"]
    assert page_address(owner.account) in found(admin, owner.username)["Accounts"]
    assert found(admin, "203.0.113.77")["Logins"] == [page_address(login)]


def test_tickets_are_found_by_words_of_their_replies(admin, owner):
    ticket = TicketFactory(account=owner.account, opened_by=owner.username)
    TicketReply.objects.create(ticket=ticket, description="It is the Zanzibar cluster again.", created_by="staff")
    assert found(admin, "zanzibar CLUSTER")["Tickets"] == [page_address(ticket)]
    assert page_address(ticket) in found(admin, str(ticket.pk))["Tickets"]


def test_jobs_hosts_volumes_and_events_are_found(admin, running):
    job, volume = running.jobs.get(), VolumeFactory(account=running.account, instance=running, label="archive")
    Job.objects.filter(pk=job.pk).update(error="The disk of rack nine is gone.")
    assert page_address(job) in found(admin, str(job.pk))["Jobs"]
    assert page_address(job) in found(admin, "rack nine")["Jobs"]
    assert found(admin, "chiv")["Volumes"] == [page_address(volume)]
    host = Host.objects.get(pk=running.host_id)
    assert page_address(host) in found(admin, host.label)["Hosts"]
    assert page_address(job.event) in found(admin, str(job.event_id))["Events"]
    assert page_address(job.event) in found(admin, job.event.action)["Events"]


def test_an_id_may_follow_the_noun(admin, running):
    job, ticket = running.jobs.get(), TicketFactory(account=running.account)
    for text in (f"job {job.pk}", f"Job #{job.pk}", f"{job.kind} {job.pk}"):
        assert found(admin, text)["Jobs"] == [page_address(job)], text
    assert found(admin, f"ticket {ticket.pk}")["Tickets"] == [page_address(ticket)]
    assert found(admin, f"instance {running.pk}")["Instances"] == [page_address(running)]
    assert "Jobs" not in found(admin, f"reboot {job.pk}")
    assert "Instances" not in found(admin, f"ticket {running.pk}")


def test_an_id_after_the_noun_is_that_of_the_row_and_of_nothing_it_is_about(admin, running):
    """Otherwise the search would show the newest jobs of the volume with this id, or events about it."""
    volume = VolumeFactory(pk=987_654, account=running.account)
    Job.objects.update(volume=volume)
    Event.objects.update(entity_id=volume.pk)
    assert {"Volumes", "Jobs", "Events"} <= set(found(admin, "987654"))
    assert not found(admin, "job 987654")
    assert not found(admin, "event 987654")


def test_a_job_of_an_instance_that_is_gone_leads_to_its_last_host(admin, running, world):
    job = running.jobs.get()
    remove(running)
    page = admin.get(reverse("admin:search"), {"q": f"job {job.pk}"})
    [group] = page.context["groups"]
    assert page_address(world.host) in [link.address for link in group.rows[0].related]


def test_records_come_after_their_objects(admin, running):
    kinds = list(found(admin, str(running.pk)))
    assert kinds[:2] == ["Instances", "Jobs"], "staff type the numbers of these most often"
    assert list(found(admin, "web-1")) == ["Instances", "Events"]


def test_a_row_has_links_to_its_account_and_host(admin, running):
    page = admin.get(reverse("admin:search"), {"q": "web-1"})
    group = next(each for each in page.context["groups"] if each.title == "Instances")
    related = {each.address for each in group.rows[0].related}
    assert related == {page_address(running.account), page_address(running.host)}


def test_hidden_rows_are_not_found(running):
    user = User.objects.create_user("newcomer", "new@example.com", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="view_instance"))
    browser = Client()
    browser.force_login(user)
    assert found(browser, "web-1") == {"Instances": [page_address(running)]}
    page = browser.get(reverse("admin:search"), {"q": "web-1"})
    assert page.context["groups"][0].rows[0].related == []


def test_customers_and_strangers_do_not_search(outsider, client):
    for browser in (outsider, client):
        response = browser.get(reverse("admin:search"), {"q": "web"})
        assert response.status_code == 302
        assert "/admin/login/" in response["Location"]


@pytest.mark.parametrize(
    "text",
    ["", " ", "%", "_", "\\", "'", "a\0b", "9" * 30, "-1", "1.2.3", "::", "x" * 5000, "/64", "job " + "9" * 9],
)
def test_every_search_text_is_answered(text, admin, running):
    assert admin.get(reverse("admin:search"), {"q": text}).status_code == 200


def test_wildcards_are_letters(admin, running):
    assert "Instances" not in found(admin, "w%b")
    assert "Instances" not in found(admin, "web_1")


def test_ten_of_a_kind_are_shown_and_it_says_that_there_are_more(admin, world):
    for number in range(12):
        TicketFactory(account=world.account, summary=f"many {number}", opened_by="x")
    page = admin.get(reverse("admin:search"), {"q": "many"})
    group = next(each for each in page.context["groups"] if each.title == "Tickets")
    assert (len(group.rows), group.more) == (10, True)
    assert "There are more" in page.content.decode()


def test_a_search_has_a_fixed_number_of_queries(admin, world):
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            found(admin, "many")
        return len(queries)

    cost()
    none = cost()
    for number in range(5):
        TicketFactory(account=world.account, summary=f"many {number}", opened_by="x")
        Account.objects.create(company=f"many {number}", email=f"m{number}@example.com")
        world.create(label=f"many-{number}")
    assert cost() == none


def test_a_query_that_takes_too_long_is_ended_and_the_rest_is_shown(admin, running, monkeypatch):
    """The database ends the query itself, because its time limit is minimal."""
    monkeypatch.setattr(search, "LOOSE_SECONDS", 0.001)
    slow = Instance.objects.extra(where=["pg_sleep(5) IS NOT NULL"])
    kinds = [
        search.Kind(each.model, (lambda: slow), each.show, search.never, each.loose)
        if each.model is Instance
        else each
        for each in search._kinds
        if each.model in (Instance, User)
    ]
    monkeypatch.setattr(search, "_kinds", kinds)
    page = admin.get(reverse("admin:search"), {"q": "web-1"})
    assert "Type more exact words" in page.content.decode()
    assert page_address(running) not in page.content.decode()
    assert User.objects.exists(), "the transaction goes on"


def test_loose_queries_share_their_time(admin, running, monkeypatch):
    monkeypatch.setattr(search, "LOOSE_BUDGET", 0)
    page = admin.get(reverse("admin:search"), {"q": "web-1"})
    instances = next(each for each in page.context["groups"] if each.title == "Instances")
    assert (len(instances.rows), instances.ended) == (1, True), "what indexes find is there all the same"


def test_the_search_is_in_the_header_of_every_page(admin, running):
    for address in (reverse("admin:index"), page_address(running), reverse("admin:search")):
        assert 'role="search"' in admin.get(address).content.decode()
