"""The pages of managed monitoring: who may use them, and each flow with its event and its refusals."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils.timezone import now

from accounts.models import Account, Event
from managed.models import ComputeSettings, Contact, Credential, KeyPair, Service
from managed.services import credentials
from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import text
from tests.factories import (
    ContactFactory,
    CredentialFactory,
    GlobalGrantsFactory,
    InstanceFactory,
    IssueFactory,
    ServiceFactory,
)
from tests.managed.one_of_each import measure, sample

pytestmark = pytest.mark.django_db

HOME = "/home/monitoring"
CONTACTS, CREDENTIALS, SSH = f"{HOME}/contacts", f"{HOME}/credentials", f"{HOME}/ssh"
SERVICE = {
    "label": "shop", "service_type": "url", "address": "https://example.com/", "timeout": "10", "body": "Welcome",
    "consultation_group": "", "region": "", "notes": "",
}  # fmt: skip


@pytest.fixture
def browser(owner, account) -> Client:
    return signed_in(owner)


@pytest.fixture
def service(account) -> Service:
    return ServiceFactory(account=account, label="shop")


def last_message(account: Account) -> str:
    return Event.objects.filter(account=account).latest("pk").message


class TestAccess:
    def test_an_account_without_monitoring_is_led_to_where_it_is_enabled(self, browser, account, service):
        Account.objects.update(managed=False)
        shown = browser.get(HOME)
        assert "Your account has not enabled managed monitoring" in text(shown)
        assert 'href="/home/account/managed"' in text(shown)
        assert shown["Content-Security-Policy"]
        for page in (f"{HOME}/{service.pk}", f"{HOME}/new", CONTACTS):
            assert browser.get(page).url == HOME
        assert browser.post(f"{HOME}/{service.pk}/disable").url == HOME
        assert Service.objects.get().status == "pending"

    def test_restricted_users_have_no_part_in_it(self, account, service):
        user = GlobalGrantsFactory(user__account=account, account_access="read_write").user
        visitor = signed_in(user)
        for page in (HOME, f"{HOME}/{service.pk}", f"{HOME}/new", SSH):
            assert visitor.get(page).status_code == 403
        assert visitor.post(f"{HOME}/{service.pk}/delete").status_code == 403
        assert f'href="{HOME}"' not in text(visitor.get("/home"))

    def test_objects_of_other_accounts_do_not_exist(self, browser):
        others = [
            f"{HOME}/{ServiceFactory().pk}", f"{HOME}/{ServiceFactory().pk}/edit",
            f"{CONTACTS}/{ContactFactory().pk}/edit", f"{CREDENTIALS}/{CredentialFactory().pk}/password",
            f"{SSH}/{InstanceFactory().pk}",
        ]  # fmt: skip
        assert {browser.get(page).status_code for page in others} == {404}
        assert not browser.get(HOME).context["rows"]


class TestServices:
    def test_a_service_is_added_with_all_of_its_fields(self, browser, account):
        contact, credential = ContactFactory(account=account, group="on call"), CredentialFactory(account=account)
        fields = {"consultation_group": contact.group, "credentials": credential.pk, "notes": "Restart\r\nit."}
        answer = browser.post(f"{HOME}/new", SERVICE | fields, follow=True)
        made = Service.objects.get()
        assert answer.redirect_chain == [(f"{HOME}/{made.pk}", 302)]
        assert (made.label, made.body, made.timeout, made.notes) == ("shop", "Welcome", 10, "Restart\nit.")
        assert (made.consultation_group, list(made.credentials.all())) == ("on call", [credential])
        assert Event.objects.latest("pk").action == "managed_service_create"
        shown = text(answer)
        assert contact.name in shown
        assert "no graph" in shown

    def test_each_refusal_is_at_its_field(self, browser):
        wrong = {"label": "x", "timeout": "", "address": "ftp://example.com", "region": "moon", "credentials": "7"}
        answer = browser.post(f"{HOME}/new", SERVICE | wrong)
        assert problems(answer, "label") == "Length must be 3-64 characters"
        assert problems(answer, "timeout")
        assert problems(answer, "address") == "Address must begin with http:// or https://"
        assert problems(answer, "region") == "Region is not valid"
        assert problems(answer, "credentials") == "Credentials is not valid"
        assert not Service.objects.exists()

    def test_saving_unchanged_changes_nothing(self, browser, service):
        page = f"{HOME}/{service.pk}/edit"
        form = browser.get(page).context["form"]
        values = {field.html_name: field.value() for field in form if field.value() is not None}
        browser.post(page, values)
        assert not Event.objects.exists()
        answer = browser.post(page, values | {"label": "store", "address": "https://example.org/"}, follow=True)
        assert "The service store was saved." in text(answer)
        service.refresh_from_db()
        assert (service.label, service.address) == ("store", "https://example.org/")

    def test_a_service_is_disabled_enabled_and_deleted(self, browser, account, service):
        page = f"{HOME}/{service.pk}"
        browser.post(f"{page}/disable")
        assert last_message(account) == "The service shop was disabled."
        assert [verb.label for verb in browser.get(HOME).context["rows"][0].verbs] == ["Edit", "Enable", "Delete"]
        browser.post(f"{page}/enable")
        assert Service.objects.get().status == "pending"
        answer = browser.post(f"{page}/delete", follow=True)
        assert answer.redirect_chain == [(HOME, 302)]
        assert not Service.objects.exists()
        assert browser.get(page).status_code == 404

    def test_a_failing_service_shows_its_problem_ticket_and_history(self, browser, account, service):
        issue = IssueFactory(account=account, services=[service.pk, 0])
        Service.objects.update(status="problem", issue=issue, error="it answered 503", checked_at=now())
        measure(service, now() - timedelta(hours=2), 20, 40, None, None)
        answer = browser.get(f"{HOME}/{service.pk}")
        shown = text(answer)
        assert "it answered 503" in shown
        assert f'href="/home/tickets/{issue.ticket_id}"' in shown
        assert answer.context["uptimes"][0][1].percent == "50.00 %"
        assert [chart.name for chart in answer.context["charts"]] == ["graph-day", "graph-month"]
        assert "30 ms on average, at most 40 ms. 2 of 4 checks failed." in shown
        listed = text(browser.get(f"{HOME}/issues"))
        assert "It is down" in listed
        assert f'href="{HOME}/{service.pk}">shop</a>' in listed
        assert "0, deleted" in listed

    def test_its_part_updates_itself(self, browser, service):
        page = f"{HOME}/{service.pk}"
        seen = browser.get(page).context["seen"]
        htmx = {"HX-Request": "true"}
        assert browser.get(page, {"seen": seen}, headers=htmx).status_code == 204
        Service.objects.update(status="ok", checked_at=now())
        assert "Uptime" not in text(browser.get(page, {"seen": seen}, headers=htmx))
        Service.objects.all().delete()
        assert browser.get(page, headers=htmx)["HX-Redirect"] == HOME


class TestContacts:
    def test_a_contact_is_added_changed_and_deleted(self, browser, account):
        fields = {"name": "Kari", "email": "kari@example.com", "phone.primary": "+47 22", "group": ""}
        assert "The contact Kari was added." in text(browser.post(f"{CONTACTS}/new", fields, follow=True))
        contact = Contact.objects.get()
        assert (contact.phone_primary, contact.phone_secondary, contact.group) == ("+47 22", None, None)
        browser.post(f"{CONTACTS}/{contact.pk}/edit", fields | {"group": "on call"})
        assert last_message(account) == "The contact Kari was changed."
        assert list(browser.get(f"{CONTACTS}?group=on call").context["rows"])
        browser.post(f"{CONTACTS}/{contact.pk}/delete")
        assert not Contact.objects.exists()

    def test_each_refusal_is_at_its_field(self, browser):
        wrong = {"name": "K", "email": "kari", "phone.primary": "1" * 33, "group": "x"}
        answer = browser.post(f"{CONTACTS}/new", wrong)
        assert all(problems(answer, name) for name in wrong)

    def test_the_quota_is_named(self, browser, account, settings):
        settings.MANAGED_CONTACTS = 0
        answer = browser.post(f"{CONTACTS}/new", {"name": "Kari", "email": "kari@example.com"})
        assert "managed contacts" in text(answer)
        assert not Contact.objects.exists()


class TestCredentials:
    def test_a_password_is_never_shown_again(self, browser, account):
        page, fields = f"{CREDENTIALS}/new", {"label": "Shop", "username": "root", "password": " secret-7 "}
        refused = browser.post(page, fields | {"label": "x"})
        assert problems(refused, "label")
        assert "secret-7" not in text(refused)
        assert "secret-7" not in text(browser.post(page, fields, follow=True))
        made = Credential.objects.get()
        assert credentials._decrypt(made) == credentials.Secret("root", " secret-7 ")
        assert problems(browser.post(page, fields), "label") == "Label must be unique among your credentials."

    def test_it_is_renamed_replaced_and_deleted(self, browser, account):
        made = CredentialFactory(account=account, label="Shop", username="root")
        page = f"{CREDENTIALS}/{made.pk}"
        assert problems(browser.post(f"{page}/password", {"username": "me"}), "password")
        browser.post(f"{page}/password", {"password": "another"})
        assert credentials._decrypt(Credential.objects.get()) == credentials.Secret("root", "another")
        browser.post(f"{page}/edit", {"label": "Store"})
        assert last_message(account) == "The credential Store was renamed."
        CredentialFactory(account=account, label="Taken")
        assert problems(browser.post(f"{page}/edit", {"label": "Taken"}), "label")
        browser.post(f"{page}/delete")
        assert not Credential.objects.filter(pk=made.pk).exists()

    def test_the_key_is_created_on_request_and_can_be_copied(self, browser, account):
        assert "Create key" in text(browser.get(CREDENTIALS))
        assert not KeyPair.objects.exists()
        shown = text(browser.post(f"{CREDENTIALS}/ssh-key", follow=True))
        assert KeyPair.objects.get().public in shown
        assert "Create key" not in shown


class TestSSHAccess:
    def test_the_settings_of_an_instance_are_changed(self, browser, account):
        instance = InstanceFactory(account=account, label="web-1", ipv4=["203.0.113.9"])
        address = instance.ipv4[0]
        page = f"{SSH}/{instance.pk}"
        browser.post(page, {"ssh.access": "on", "ssh.ip": "any", "ssh.user": "", "ssh.port": ""})
        assert not Event.objects.exists()
        answer = browser.post(page, {"ssh.ip": address, "ssh.user": "deploy", "ssh.port": "2222"}, follow=True)
        assert "The SSH access to web-1 was saved." in text(answer)
        found = ComputeSettings.objects.get()
        assert (found.access, found.user, found.ip, found.port) == (False, "deploy", address, 2222)
        assert last_message(account) == "The SSH settings of managed were changed."
        wrong = browser.post(page, {"ssh.ip": "192.0.2.77", "ssh.port": "70000", "ssh.user": "a" * 33})
        assert problems(wrong, "ssh.ip") == "Address must be any, or an address of this instance"
        assert problems(wrong, "ssh.port")
        assert problems(wrong, "ssh.user")


class TestUsage:
    def test_values_of_all_instances_are_summed_with_gaps(self, browser, account):
        page = f"{HOME}/usage"
        assert "There are no values yet" in text(browser.get(page))
        at = now() - timedelta(hours=1)
        for cpu, v4_in in ((10.0, 2e6), (30.0, 4e6)):
            instance = InstanceFactory(account=account)
            sample(instance, at, cpu=cpu, v4_in=v4_in)
        sample(instance, at + timedelta(minutes=15), cpu=80.0)
        processor, _, network = browser.get(page).context["charts"]
        assert processor.description == "Usage: 60.0 % on average, at most 80.0 %."
        assert network.description.startswith("Received: 3.0 Mbit/s on average, at most 6.0 Mbit/s.")
        assert len(processor.lines) == 2, "No line connects values over a gap."
