"""Staff act on instances through the services, and see the state of each on one page."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models.functions import Now

from accounts.models import Event
from compute.models import VLAN, Host, Instance, Job, VolumeDevice
from compute.services.instances import power
from compute.worker import engine
from tests.compute.memory_driver import failing_at
from tests.config.admin.pages import do, list_address, messages_of, page_address
from tests.factories import ConfigFactory, VolumeFactory

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("verb", "during"), [("reboot", "rebooting"), ("shutdown", "shutting_down"), ("delete", "deleting")]
)
def test_a_button_puts_a_job_on_the_instance(verb, during, admin, running, notified):
    response = do(admin, running, verb)

    running.refresh_from_db()
    assert running.status == during
    job = running.jobs.first()
    assert job.kind == verb
    assert job.created_by == "staff"
    assert Event.objects.filter(action=f"compute_{verb}", username="staff").exists()
    assert f"job {job.pk} was started" in messages_of(response)
    entry = LogEntry.objects.get()
    assert entry.object_id == str(running.pk)
    assert f"job {job.pk}" in entry.change_message


def test_booting_needs_no_second_question(admin, running, world, driver):
    engine.run(power.shutdown(world.actor, running).pk, driver)
    admin.post(page_address(running).replace("/change/", "/do/boot/"))
    running.refresh_from_db()
    assert running.status == "booting"


def test_a_dangerous_verb_asks_first(admin, running):
    response = admin.post(page_address(running).replace("/change/", "/do/delete/"))
    assert "cannot be undone" in response.content.decode()
    running.refresh_from_db()
    assert running.status == "running"


def test_a_refusal_is_shown_and_logged(admin, running):
    running.configs.all().delete()
    response = do(admin, running, "reboot")
    assert "has no configuration profile" in messages_of(response)
    assert "refused: This compute has no" in LogEntry.objects.get().change_message
    assert running.jobs.count() == 1


def test_a_boot_of_an_instance_that_was_booted_meanwhile_says_that_nothing_was_done(admin, running):
    response = do(admin, running, "boot")
    assert "nothing to do." in messages_of(response)
    assert running.jobs.count() == 1


def test_a_busy_instance_says_so(admin, running, world):
    power.reboot(world.actor, running)
    assert "Compute busy." in messages_of(do(admin, running, "shutdown"))


def test_buttons_only_answer_posts_with_a_csrf_token(staff, running):
    from django.test import Client

    strict = Client(enforce_csrf_checks=True)
    strict.force_login(staff)
    address = page_address(running).replace("/change/", "/do/shutdown/")
    assert strict.get(address).status_code == 405
    assert strict.post(address, {"confirmed": "yes"}).status_code == 403
    running.refresh_from_db()
    assert running.status == "running"


def test_the_list_acts_on_many_and_tells_who_refused(admin, running, world):
    other = world.create(label="busy")
    data = {"action": "shutdown", "_selected_action": [running.pk, other.pk]}

    asked = admin.post(list_address(Instance), data)
    assert "web-1" in asked.content.decode()
    assert not LogEntry.objects.exists()

    response = admin.post(list_address(Instance), {**data, "confirmed": "yes"}, follow=True)
    messages = messages_of(response)
    assert "Shut down, instance web-1" in messages
    assert "refused for instance busy: Compute busy." in messages
    assert LogEntry.objects.count() == 2


def test_nothing_can_be_edited_added_or_deleted_past_the_services(admin, running):
    address = page_address(running)
    assert admin.post(address, {"status": "offline"}).status_code == 403
    assert admin.get(address.replace("/change/", "/delete/")).status_code == 403
    assert admin.get(list_address(Instance) + "add/").status_code == 403
    assert "delete_selected" not in admin.get(list_address(Instance)).content.decode()


@pytest.mark.parametrize("word", ["web-", "WEB-1", "worldowner", "world@", "Wor"])
def test_an_instance_is_found_by_label_user_mail_and_company(word, admin, running):
    assert list(admin.get(list_address(Instance), {"q": word}).context["cl"].result_list) == [running]


def test_an_instance_is_found_by_id_and_address_exactly(admin, running, world):
    world.create(label="other")
    for word in (str(running.pk), *running.ipv4):
        assert running in admin.get(list_address(Instance), {"q": word}).context["cl"].result_list
    assert not admin.get(list_address(Instance), {"q": "203.0.113.77"}).context["cl"].result_list
    assert not admin.get(list_address(Instance), {"q": "9" * 30}).context["cl"].result_list


def test_the_page_tells_the_whole_story(admin, running, world, driver):
    job = power.reboot(world.actor, running)
    driver.before = failing_at(len(driver.calls))
    engine.run(job.pk, driver)
    Job.objects.filter(pk=job.pk).update(run_at=Now() - timedelta(minutes=3))

    text = admin.get(page_address(running)).content.decode()

    assert f"job {job.pk}: reboot" in text
    for part in ("1/2 stop", "attempt 1 of 5", "lease free", "due since 3 min", "The host does not answer."):
        assert part in text
    assert "stuck" in text
    assert "An instance is rebooted." in text
    assert text.index("job ") < text.index("An instance is created.")
    for part in ("Test 11 Disk", "512MB Swap Image", "My Test 11 Disk Profile", running.ipv4[0], "production"):
        assert part in text


def test_the_page_shows_rescue_profiles_and_their_devices(admin, running, world):
    config = ConfigFactory(
        instance=running, label="Mend", rescue=True, interfaces=[{"purpose": "vlan", "label": "dmz"}]
    )
    volume = VolumeFactory(account=world.account, label="archive")
    VolumeDevice.objects.create(config=config, slot="sdc", volume=volume)
    text = admin.get(page_address(running)).content.decode()
    assert text.count("rescue") == 1
    for part in ("Mend", "sdc: volume archive", "dmz"):
        assert part in text


def test_its_page_says_when_its_host_does_not_answer(admin, running):
    address = page_address(running)
    assert "does not answer" not in admin.get(address).content.decode()
    Host.objects.filter(pk=running.host_id).update(unreachable_since=Now() - timedelta(minutes=3))
    assert "does not answer" in admin.get(address).content.decode()


def test_a_vlans_page_lists_the_instances_on_it(admin, running, world):
    vlan = VLAN.objects.create(account=world.account, region=world.region, label="dmz")
    assert running.label not in admin.get(page_address(vlan)).content.decode()
    ConfigFactory(instance=running, interfaces=[{"purpose": "vlan", "label": "dmz"}])
    assert running.label in admin.get(page_address(vlan)).content.decode()


def test_a_quiet_instance_is_not_called_stuck(admin, running):
    assert "stuck" not in admin.get(page_address(running)).content.decode()
