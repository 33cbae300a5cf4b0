"""All pages of the parts of an instance, and the permissions to see and change the parts."""

import re

import pytest
from django.urls import reverse

from compute.models import Instance
from compute.pages.part_urls import urlpatterns
from tests.accounts.pages.browsers import signed_in_ago
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import (
    PARTS,
    add_parts,
    address_of,
    begin_job,
    events,
    instance_with_parts,
    path_values,
    text,
)
from tests.factories import GlobalGrantsFactory, GrantFactory, UserFactory

pytestmark = pytest.mark.django_db
BUSY = "Another job runs on the instance. Try again later."

FORMS = [each for each in urlpatterns if each.name not in PARTS]


@pytest.fixture
def instance(account) -> Instance:
    return instance_with_parts(account, label="web-1")


@pytest.fixture
def reader(account, instance):
    user = GlobalGrantsFactory(user__account=account).user
    GrantFactory(user=user, entity_id=instance.pk)
    return user


def form_address(pattern, instance: Instance) -> str:
    values = path_values(instance)
    wanted = {name: values[name] for name in pattern.pattern.converters}
    return reverse(pattern.name, kwargs={"pk": instance.pk, **wanted})


@pytest.mark.parametrize("pattern", FORMS, ids=lambda each: each.name)
class TestForms:
    def test_the_owner_is_asked_first(self, pattern, owner, instance):
        answer = signed_in(owner).get(form_address(pattern, instance))
        if pattern.name == "instance-config-boot":
            assert answer.status_code == 405
        elif pattern.name == "instance-disk-password":
            assert answer["Location"].startswith("/home/confirm?next=")
        else:
            assert answer.status_code == 200
            assert '<form method="post"' in text(answer)
        assert events(instance) == []

    def test_a_reader_is_refused(self, pattern, reader, instance):
        address = form_address(pattern, instance)
        assert signed_in(reader).get(address).status_code == 403
        assert signed_in(reader).post(address).status_code == 403
        assert events(instance) == []

    def test_strangers_find_nothing(self, pattern, stranger, instance):
        address = form_address(pattern, instance)
        assert signed_in(stranger).get(address).status_code == 404
        assert signed_in(stranger).post(address).status_code == 404

    def test_a_part_of_another_instance_is_not_found(self, pattern, owner, account, instance):
        if not pattern.pattern.converters:
            return
        other = instance_with_parts(account)
        values = {name: path_values(other)[name] for name in pattern.pattern.converters}
        address = reverse(pattern.name, kwargs={"pk": instance.pk, **values})
        browser = signed_in(owner)
        signed_in_ago(browser, 0)
        answer = browser.post(address, follow=True)
        assert "does not exist any more. Somebody may have deleted it meanwhile." in text(answer)
        assert events(other) == events(instance) == []

    def test_forms_of_parts_need_a_signed_in_user(self, pattern, client, instance):
        assert client.post(form_address(pattern, instance))["Location"].startswith("/login?")


@pytest.mark.parametrize("page", PARTS)
class TestTabs:
    def test_a_reader_sees_no_verbs(self, page, reader, instance):
        shown = text(signed_in(reader).get(address_of(page, instance)))
        assert "web-1" in shown
        part = shown[shown.index('id="part"') :]
        assert 'class="btn' not in part.replace('class="btn btn-sm btn-icon" data-copy', "")
        assert "dropdown-item" not in part

    def test_strangers_find_nothing(self, page, stranger, instance):
        assert signed_in(stranger).get(address_of(page, instance)).status_code == 404

    def test_an_instance_without_parts_has_its_page(self, page, owner, account, instance):
        bare = type(instance).objects.create(
            account=account, label="bare", region=instance.region, type=instance.type, host=instance.host,
            alert_cpu=90, status="offline",
        )  # fmt: skip
        answer = signed_in(owner).get(address_of(page, bare))
        assert answer.status_code == 200

    def test_the_list_is_sent_again_only_when_it_has_changed(self, page, owner, instance):
        browser = signed_in(owner)
        shown = text(browser.get(address_of(page, instance)))
        seen = re.search(r'id="part" data-live hx-get="\?seen=([^"]+)"', shown)[1]
        again = {"HTTP_HX_REQUEST": "true"}
        assert browser.get(address_of(page, instance), {"seen": seen}, **again).status_code == 204
        add_parts(instance)
        changed = browser.get(address_of(page, instance), {"seen": seen}, **again)
        assert text(changed).startswith('<div id="part"')


class TestBusy:
    @pytest.mark.parametrize(("page", "verb"), [("storage", "Create disk"), ("storage", "Attach volume"),
        ("backups", "Take snapshot")])  # fmt: skip
    def test_a_button_is_disabled_with_the_reason(self, page, verb, owner, instance):
        begin_job(instance)
        shown = text(signed_in(owner).get(address_of(f"instance-{page}", instance)))
        assert re.search(rf"disabled aria-describedby=[^>]*>{verb}</button> <span[^>]*>{BUSY}</span>", shown)

    @pytest.mark.parametrize(("page", "verb"), [("storage", "Resize"), ("storage", "Delete"), ("storage", "Detach"),
        ("configs", "Boot with profile")])  # fmt: skip
    def test_a_verb_of_a_row_is_unavailable(self, page, verb, owner, instance):
        begin_job(instance)
        shown = text(signed_in(owner).get(address_of(f"instance-{page}", instance)))
        assert f'>{verb}<span class="visually-hidden">, unavailable: {BUSY}</span>' in shown

    def test_a_form_says_so(self, owner, instance):
        begin_job(instance)
        shown = text(signed_in(owner).get(address_of("instance-disk-new", instance)))
        assert f'role="status"><div>{BUSY}</div></div>' in shown
        assert re.search(r'<button class="btn btn-primary" disabled>Create disk', shown)

    @pytest.mark.parametrize(("page", "verb"), [("configs", "Create profile"), ("network", "Add address"),
        ("network", "Create range"), ("network", "Attach firewall")])  # fmt: skip
    def test_addresses_and_profiles_wait_for_a_deletion_alone(self, page, verb, owner, instance):
        begin_job(instance)
        assert f">{verb}</a>" in text(signed_in(owner).get(address_of(f"instance-{page}", instance)))
        Instance.objects.update(status="deleting")
        shown = text(signed_in(owner).get(address_of(f"instance-{page}", instance)))
        assert re.search(rf"disabled aria-describedby=[^>]*>{verb}</button> <span[^>]*>{BUSY}</span>", shown)


def test_a_reader_without_a_firewall_s_grant_does_not_see_it(owner, reader, instance):
    label = instance.firewall_devices.get().firewall.label
    assert label in text(signed_in(owner).get(address_of("instance-network", instance)))
    assert label not in text(signed_in(reader).get(address_of("instance-network", instance)))


def test_volumes_and_firewalls_need_grants_of_their_own(account, instance):
    user = GlobalGrantsFactory(user__account=account).user
    GrantFactory(user=user, entity_id=instance.pk, permissions="read_write")
    browser = signed_in(user)
    volume, device = instance.volumes.get(), instance.firewall_devices.get()
    for page, part in (("volume-detach", volume), ("firewall-remove", device)):
        for pk in (part.pk, part.pk + 1):  # one that the user may not see, and one that never existed
            assert browser.post(address_of(f"instance-{page}", instance, pk)).status_code == 404
    GrantFactory(user=user, entity_type="volume", entity_id=volume.pk)
    GrantFactory(user=user, entity_type="firewall", entity_id=device.firewall_id)
    for page, part in (("volume-detach", volume), ("firewall-remove", device)):
        assert browser.post(address_of(f"instance-{page}", instance, part.pk)).status_code == 403
    shown = text(browser.get(address_of("instance-storage", instance)))
    assert volume.label in shown
    assert "Detach" not in shown
    assert "Create volume" not in shown
    assert "Create image" not in shown


def test_a_user_of_no_account_finds_nothing(instance, staff):
    assert signed_in(staff).get(address_of("instance-storage", instance)).status_code == 404
    assert signed_in(UserFactory()).get(address_of("instance-storage", instance)).status_code == 404
