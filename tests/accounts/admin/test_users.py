"""Users in the admin: only services change them, and how users sign in."""

from html import unescape

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from accounts.models import (
    Event,
    GlobalGrants,
    Grant,
    Login,
    Message,
    SecondFactor,
    SecurityAnswer,
    Ticket,
    TicketAttachment,
    TrustedDevice,
    User,
)
from accounts.services import external, security_questions
from accounts.services.security_questions import QUESTIONS, Answer
from config.admin.forms import READ_BY_CUSTOMERS
from config.encryption import decrypt_json
from config.limits import rates
from tests.config.admin.pages import do, list_address, messages_of, page_address
from tests.factories import InstanceFactory, StaffFactory, TicketFactory, TrustedDeviceFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def helper(world) -> User:
    """A restricted user of the account."""
    user = UserFactory(account=world.account, username="helper", restricted=True)
    GlobalGrants.objects.create(user=user)
    return user


def save(admin, user: User, **fields):
    """Send the user's form unchanged except for these fields."""
    form = admin.get(page_address(user)).context["adminform"].form
    kept = {name: form.initial[name] for name in ("username", "email", "restricted") if name in form.fields}
    data = {name: value for name, value in {**kept, **fields}.items() if value is not False}
    return admin.post(page_address(user), data)


class TestChanging:
    def test_a_new_name_goes_along_with_all_that_the_user_did(self, admin, owner, world):
        ticket = TicketFactory(account=world.account, opened_by="worldowner")
        TicketAttachment.objects.create(
            ticket=ticket, name="a.txt", media_type="text/plain", size=1, created_by="worldowner"
        )
        Login.objects.create(account=world.account, user=owner, username="worldowner", restricted=False, ip="::1")
        assert save(admin, owner, username="Kari-N").status_code == 302
        assert User.objects.get(pk=owner.pk).username == "Kari-N"
        assert Ticket.objects.get().opened_by == "Kari-N"
        assert TicketAttachment.objects.get().created_by == "Kari-N"
        assert Login.objects.get().username == "Kari-N"
        event = Event.objects.get(action="user_update")
        assert (event.username, event.entity_label) == ("staff", "Kari-N")

    @pytest.mark.parametrize("name", ["HELPER", "helper", "a b", "x"])
    def test_a_name_that_cannot_be_is_refused_in_the_form(self, name, admin, owner, helper):
        answer = save(admin, owner, username=name)
        assert answer.context["adminform"].form.errors
        owner.refresh_from_db()
        assert owner.username == "worldowner"
        assert not Event.objects.exists()

    def test_the_last_unrestricted_user_stays_so(self, admin, owner):
        errors = save(admin, owner, restricted="on").context["adminform"].form.errors
        assert errors["restricted"] == ["An account needs at least one unrestricted user."]
        owner.refresh_from_db()
        assert not owner.restricted
        assert not LogEntry.objects.exists()

    def test_freeing_a_user_takes_its_grants_away(self, admin, helper):
        Grant.objects.create(user=helper, entity_type="compute", entity_id=1, permissions="read_only")
        assert save(admin, helper, restricted=False).status_code == 302
        helper.refresh_from_db()
        assert not helper.restricted
        assert not Grant.objects.exists()
        assert not GlobalGrants.objects.exists()

    def test_editing_a_user_tells_the_account(self, admin, owner):
        save(admin, owner, email="moved@example.com")
        owner.refresh_from_db()
        assert owner.email == "moved@example.com"
        assert Event.objects.filter(action="user_update", entity_id=owner.pk, username="staff").exists()

    def test_saving_unchanged_tells_nothing(self, admin, owner):
        assert save(admin, owner).status_code == 302
        assert not Event.objects.exists()

    def test_staff_keep_their_names(self, admin, staff):
        former = staff.email
        admin.post(page_address(staff), {"username": "other", "email": "new@example.com", "is_staff": "on"})
        staff.refresh_from_db()
        assert (staff.username, staff.email) == ("staff", "new@example.com")
        assert Message.objects.get().recipient == former


class TestSigningIn:
    def test_the_page_says_only_whether_there_are_questions_and_a_password(self, admin, owner):
        page = admin.get(page_address(owner)).content.decode()
        assert "not answered" in page
        assert "No password is set." in page
        SecurityAnswer.objects.bulk_create(
            SecurityAnswer(user=owner, question_id=number, response="hash") for number in (1, 2, 3)
        )
        owner.set_password("a-long-Password-7")
        owner.save()
        page = admin.get(page_address(owner)).content.decode()
        assert "not answered" not in page
        assert "A password is set." in page
        assert "argon2" not in page

    def test_staff_ask_a_caller_a_security_question(self, admin, world, owner, settings):
        security_questions.answer(world.actor, [Answer(1, "Bergen"), Answer(2, "Rex"), Answer(3, "Volvo")])
        asked = admin.post(page_address(owner).replace("/change/", "/do/check-answer/")).content.decode()
        assert QUESTIONS[2] in asked
        assert QUESTIONS[4] not in asked
        assert "right." in messages_of(do(admin, owner, "check-answer", question=2, response=" rex "))
        wrong = do(admin, owner, "check-answer", question=1, response="Rex").content.decode()
        assert "The answer is wrong." in wrong
        messages = " ".join(LogEntry.objects.values_list("change_message", flat=True))
        assert "Check an answer: the answer is right." in messages
        assert "Check an answer refused: The answer is wrong." in messages
        assert "rex" not in messages.lower()
        assert (
            "not one of the available"
            in do(admin, owner, "check-answer", question=4, response="x").content.decode()
        )

        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "second_factor": "1/600"}
        rates.forget()
        do(admin, owner, "check-answer", question=1, response="Rex")
        late = do(admin, owner, "check-answer", question=1, response="Bergen")
        assert (late.status_code, 0 < int(late["Retry-After"]) <= 60) == (429, True)
        assert "Too many attempts. Try again in " in late.content.decode()
        rates.forget()

    def test_the_second_factor_is_turned_off_with_a_reason(self, admin, owner):
        SecondFactor.objects.create(user=owner, encrypted=b"x")
        User.objects.filter(pk=owner.pk).update(two_factor_auth=True)
        asked = admin.post(page_address(owner).replace("/change/", "/do/second-factor-off/"))
        assert "the password alone is enough" in asked.content.decode()
        assert READ_BY_CUSTOMERS in unescape(asked.content.decode())
        assert "This field is required." in do(admin, owner, "second-factor-off", reason=" ").content.decode()
        assert SecondFactor.objects.exists()

        do(admin, owner, "second-factor-off", reason="Lost phone, called back.")
        owner.refresh_from_db()
        assert not owner.two_factor_auth
        assert not SecondFactor.objects.exists()
        event = Event.objects.get(action="tfa_disabled")
        assert (event.username, event.message) == ("staff", "Turned off by support: Lost phone, called back.")
        assert "Lost phone, called back." in LogEntry.objects.latest("pk").change_message
        assert "already off" in do(admin, owner, "second-factor-off", reason="Again.").content.decode()

    def test_the_second_factor_of_staff_is_turned_off_without_an_event(self, admin, staff):
        User.objects.filter(pk=staff.pk).update(two_factor_auth=True)
        do(admin, staff, "second-factor-off", reason="Lost phone.")
        staff.refresh_from_db()
        assert not staff.two_factor_auth
        assert not Event.objects.exists()

    def test_a_browser_is_forgotten_from_the_users_page(self, admin, owner):
        device = TrustedDeviceFactory(user=owner)
        address = page_address(device).replace("/change/", "/do/forget/")
        assert f"{address}?next=" in admin.get(page_address(owner)).content.decode()
        answer = admin.post(f"{address}?next={page_address(owner)}", {"confirmed": "yes"})
        assert answer["Location"] == page_address(owner)
        assert not TrustedDevice.objects.exists()
        assert Event.objects.get().message == "A remembered browser was removed."

    def test_a_browser_of_staff_is_forgotten_without_an_event(self, admin, staff):
        do(admin, TrustedDeviceFactory(user=staff), "forget")
        assert not TrustedDevice.objects.exists()
        assert not Event.objects.exists()

    def test_a_mail_to_choose_a_password_is_sent(self, admin, owner):
        do(admin, owner, "mail-password")
        assert Message.objects.get().recipient == owner.email
        assert Event.objects.get().action == "password_reset"
        User.objects.filter(pk=owner.pk).update(is_active=False)
        assert "suspended" in messages_of(do(admin, owner, "mail-password"))
        assert Message.objects.count() == 1

    def test_a_provider_is_shown_and_ended(self, admin, owner):
        external.tie(
            owner, "https://id.example", "77", label="kari@id", provider="Our login", authentication_type="oidc"
        )
        assert "kari@id at https://id.example" in admin.get(page_address(owner)).content.decode()
        assert "another provider" in messages_of(do(admin, owner, "mail-password"))
        assert "to choose a password" in messages_of(do(admin, owner, "untie"))
        owner.refresh_from_db()
        assert owner.authentication_type == User.PASSWORD
        assert Event.objects.filter(action="user_update", username="staff").exists()

    def test_a_password_that_staff_set_ends_the_other_ways_in(self, admin, owner):
        external.tie(
            owner, "https://id.example", "77", label="kari@id", provider="Our login", authentication_type="oidc"
        )
        TrustedDeviceFactory(user=owner)
        address = reverse("admin:auth_user_password_change", args=[owner.pk])
        fresh = {"usable_password": "true", "password1": "a-fresh-Pass-77", "password2": "a-fresh-Pass-77"}
        assert admin.post(address, fresh).status_code == 302
        owner = User.objects.get(pk=owner.pk)
        assert owner.check_password("a-fresh-Pass-77")
        assert owner.authentication_type == User.PASSWORD
        assert external.identity_of(owner) is None
        assert not TrustedDevice.objects.exists()
        event = Event.objects.get(action="password_reset")
        assert (event.username, event.entity_id, event.message) == ("staff", owner.pk, "Support set a password.")
        mail = Message.objects.get(subject="Your password was changed")
        assert mail.recipient == owner.email
        assert "a-fresh-Pass-77" not in str(decrypt_json(mail.encrypted))

    def test_staff_are_mailed_if_other_staff_set_their_password(self, admin):
        other = StaffFactory(email="other@example.com")
        address = reverse("admin:auth_user_password_change", args=[other.pk])
        fresh = {"usable_password": "true", "password1": "a-fresh-Pass-77", "password2": "a-fresh-Pass-77"}
        assert admin.post(address, fresh).status_code == 302
        assert [mail.recipient for mail in Message.objects.all()] == ["other@example.com"]

    def test_nobody_has_no_password(self, admin, owner):
        address = reverse("admin:auth_user_password_change", args=[owner.pk])
        assert admin.get(address.replace(str(owner.pk), "nobody")).status_code == 404

    def test_a_refused_password_sends_no_mail(self, admin, owner):
        address = reverse("admin:auth_user_password_change", args=[owner.pk])
        assert (
            admin.post(address, {"usable_password": "true", "password1": "a", "password2": "b"}).status_code == 200
        )
        assert not Event.objects.exists()
        assert not Message.objects.exists()


class TestGrants:
    def current(self, admin, user: User) -> dict:
        page = admin.post(page_address(user).replace("/change/", "/do/grants/"))
        fields = page.context["form"].fields
        return {name: field.initial for name, field in fields.items() if field.initial not in (None, False, "")}

    def test_only_changed_grants_are_written(self, admin, helper, running):
        other = InstanceFactory(account=helper.account, region=running.region)
        Grant.objects.create(user=helper, entity_type="compute", entity_id=running.pk, permissions="read_only")
        now = self.current(admin, helper)
        assert now == {f"compute-{running.pk}": "read_only", "level": "read_only"}
        response = do(
            admin, helper, "grants", **now, account_access="read_only", add_computes="on", kind="compute",
            ids=f"{other.pk}",
        )  # fmt: skip
        assert "grants changed: 3" in messages_of(response)
        row = GlobalGrants.objects.get(user=helper)
        assert (row.account_access, row.add_computes, row.add_images) == ("read_only", True, False)
        levels = dict(Grant.objects.values_list("entity_id", "permissions"))
        assert levels == {running.pk: "read_only", other.pk: "read_only"}
        assert Event.objects.get(action="user_update").message == "Grants were changed."

    def test_a_grant_is_taken_away(self, admin, helper, running):
        GlobalGrants.objects.filter(user=helper).update(account_access="read_write", add_images=True)
        Grant.objects.create(user=helper, entity_type="compute", entity_id=running.pk, permissions="read_only")
        do(admin, helper, "grants", **{f"compute-{running.pk}": "", "account_access": ""})
        row = GlobalGrants.objects.get(user=helper)
        assert (row.account_access, row.add_images) == (None, False)
        assert not Grant.objects.exists()

    @pytest.mark.parametrize("ids", ["x", "1;2", "9" * 30])
    def test_an_invalid_id_is_reported_at_its_field(self, ids, admin, helper):
        assert "ids: numbers" in do(admin, helper, "grants", kind="compute", ids=ids).content.decode()

    def test_an_object_of_another_account_is_refused(self, admin, helper):
        foreign = InstanceFactory()
        page = do(admin, helper, "grants", kind="compute", ids=str(foreign.pk), level="read_write")
        assert page.context["form"].errors["ids"]
        assert not Grant.objects.exists()

    def test_an_unrestricted_user_has_none(self, admin, owner):
        assert "has no grants" in do(admin, owner, "grants", add_computes="on").content.decode()
        assert "Nothing was changed." in do(admin, owner, "grants").content.decode()


class TestFindingWhoCameIn:
    @pytest.fixture
    def login(self, owner) -> Login:
        UserFactory(username="other")
        return Login.objects.create(
            account=owner.account, user=owner, username=owner.username, restricted=False, ip="2001:db8::7"
        )

    @pytest.mark.parametrize("word", ["worldowner", "WorldOwner", "2001:DB8:0:0::7"])
    def test_by_name_and_address(self, word, admin, login, owner):
        device = TrustedDeviceFactory(user=owner, last_remote_addr="2001:db8::7")
        for model, found in ((Login, login), (TrustedDevice, device)):
            assert list(admin.get(list_address(model), {"q": word}).context["cl"].result_list) == [found]
            assert not admin.get(list_address(model), {"q": "198.51.100.1"}).context["cl"].result_list
            assert not admin.get(list_address(model), {"q": "other"}).context["cl"].result_list

    def test_a_deleted_user_is_found_by_its_name(self, admin, login, owner):
        owner.delete()
        page = admin.get(list_address(Login), {"q": "worldowner"})
        assert "worldowner (removed)" in page.content.decode()
