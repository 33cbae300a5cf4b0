"""The pages of an instance's volumes: attach, create and detach."""

import pytest

from compute.models import Instance, Volume
from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import address_of, events, instance_with_parts, send, text
from tests.factories import RegionFactory, VolumeFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def instance(account) -> Instance:
    return instance_with_parts(account)


@pytest.fixture
def browser(owner):
    return signed_in(owner)


def test_a_free_volume_of_the_region_is_attached(browser, account, instance):
    spare = VolumeFactory(account=account, label="spare")
    VolumeFactory(account=account, label="far", region=RegionFactory(id="us-far"))
    VolumeFactory(label="theirs")
    shown = text(browser.get(address_of("instance-volume-attach", instance)))
    assert "spare, 20 GB" in shown
    assert "far," not in shown
    assert "theirs" not in shown
    send(browser, "instance-volume-attach", instance, volume=spare.pk, persist_across_boots="on")
    spare.refresh_from_db()
    assert spare.instance == instance
    assert instance.configs.get().volume_devices.filter(volume=spare).exists()
    assert events(instance) == ["volume_attach"]


@pytest.mark.parametrize("given", ["", "7777777", "x"])
def test_a_volume_has_to_be_chosen(browser, instance, given):
    answer = send(browser, "instance-volume-attach", instance, volume=given)
    assert problems(answer, "volume") == "Choose a volume."


def test_reasons_stand_at_their_fields(browser, account, instance):
    spare = VolumeFactory(account=account)
    answer = send(browser, "instance-volume-attach", instance, volume=spare.pk)
    assert problems(answer, "persist_across_boots") == (
        'The instance is off, so "Keep the volume attached after the next boot" must be true.'
    )
    answer = send(
        browser, "instance-volume-attach", instance, volume=spare.pk, config_id="7777777", persist_across_boots="on"
    )
    assert problems(answer, "config_id") == '"Configuration profile" is not valid'


def test_a_new_volume_is_attached(browser, instance):
    send(browser, "instance-volume-new", instance, label="files", size="40")
    made = Volume.objects.get(label="files")
    assert (made.instance, made.size, made.status) == (instance, 40, "creating")
    assert events(instance) == ["volume_create"]
    assert "every 5s" in text(browser.get(address_of("instance-storage", instance)))


def test_a_new_volume_needs_label_and_size(browser, instance):
    answer = send(browser, "instance-volume-new", instance, label="", size="5")
    assert problems(answer, "label")
    assert problems(answer, "size") == "Must be 10-10240"


def test_a_volume_is_detached(browser, instance):
    volume = instance.volumes.get()
    send(browser, "instance-volume-detach", instance, volume.pk)
    volume.refresh_from_db()
    assert volume.instance is None
    assert events(instance) == ["volume_detach"]


def test_a_volume_that_grows_is_not_detached(browser, instance):
    Volume.objects.update(status="resizing")
    assert "Cannot detach a volume that is resizing." in text(browser.get(address_of("instance-storage", instance)))
    answer = send(browser, "instance-volume-detach", instance, instance.volumes.get().pk)
    assert "Cannot detach a volume that is resizing." in text(answer)
