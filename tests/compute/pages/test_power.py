"""Boot, reboot and shut down in a browser."""

import pytest

from compute.jobs.data import BootData
from compute.models import Instance
from tests.accounts.pages.browsers import problems
from tests.compute.pages.visiting import last_event, owner_of, page_of, text_of
from tests.compute.run_jobs import finish
from tests.compute.worker.scenarios import deployed

pytestmark = pytest.mark.django_db


def test_an_instance_is_shut_down_booted_and_rebooted(world, driver):
    browser, instance = owner_of(world), deployed(world, driver)
    for verb, during, after in (
        ("shutdown", "shutting_down", "offline"),
        ("boot", "booting", "running"),
        ("reboot", "rebooting", "running"),
    ):
        assert browser.post(page_of(instance, verb))["Location"] == page_of(instance)
        instance.refresh_from_db()
        assert (instance.status, last_event(instance)) == (during, f"compute_{verb}")
        finish(instance, driver)
        assert instance.status == after
        if verb != "reboot":  # the page of somebody else may be older
            page = text_of(browser.post(page_of(instance, verb), follow=True))
            # only the message of a job is a confirmation, which leaves the page
            assert f'role="status">{instance} is {"off" if verb == "shutdown" else "running"} already.' in page
            assert f'role="status" data-confirmation>{instance} is ' in page
            assert not instance.jobs.filter(finished_at=None).exists()


def test_a_confirmation_is_for_the_time_of_the_job(world, driver):
    """The script of the pages removes the confirmation when the head of the page is settled."""
    browser, instance = owner_of(world), deployed(world, driver)
    page = text_of(browser.post(page_of(instance, "shutdown"), follow=True))
    assert "data-confirmation>" in page
    assert "data-settled" not in page
    instance.refresh_from_db()
    finish(instance, driver)
    assert "data-live data-settled" in text_of(browser.get(page_of(instance, "state")))


def test_a_refusal_is_shown_on_the_next_page(world):
    instance = world.offline(image=None)
    answer = owner_of(world).post(page_of(instance, "boot"), follow=True)
    assert "This instance has no configuration profile to boot." in text_of(answer)


class TestAProfile:
    def test_the_chosen_one_is_booted(self, world, driver):
        browser, instance = owner_of(world), deployed(world, driver, running=False)
        other = instance.configs.create(label="other", kernel_id="compute/grub2")
        page = text_of(browser.get(page_of(instance, "boot/profile")))
        assert f'value="{other.pk}">other' in page
        browser.post(page_of(instance, "boot/profile"), {"config_id": other.pk})
        job = instance.jobs.get(finished_at=None)
        assert (job.kind, BootData.from_json(job.data).config_id) == ("boot", other.pk)
        finish(instance, driver)
        browser.post(page_of(instance, "reboot/profile"), {"config_id": other.pk})
        job = instance.jobs.get(finished_at=None)
        assert (job.kind, BootData.from_json(job.data).config_id) == ("reboot", other.pk)

    @pytest.mark.parametrize("wrong", ["x", "999999999"])
    def test_another_is_refused_at_the_field(self, world, wrong):
        instance = world.offline()
        answer = owner_of(world).post(page_of(instance, "boot/profile"), {"config_id": wrong})
        assert problems(answer, "config_id")
        assert not Instance.objects.filter(status="booting").exists()
