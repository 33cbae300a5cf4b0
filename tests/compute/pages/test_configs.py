"""The pages of configuration profiles: the whole form, and booting with a profile."""

import pytest

from compute.models import Config, Instance
from regions.models import Region
from tests.accounts.pages.browsers import problems
from tests.compute.at_consoles import signed_in
from tests.compute.pages.parts import address_of, events, instance_with_parts, job_of, send, text
from tests.factories import GlobalGrantsFactory, GrantFactory, KernelFactory, VolumeFactory

pytestmark = pytest.mark.django_db

WHOLE = {
    "kernel": "compute/latest-64bit",
    "root_device": "/dev/sda",
    "memory_limit": "0",
    "run_level": "default",
    "virt_mode": "paravirt",
    "comments": "",
}


@pytest.fixture
def instance(account) -> Instance:
    instance = instance_with_parts(account)
    Region.objects.update(capabilities=["Computes", "Block Storage", "Vlans"])
    return instance


@pytest.fixture
def config(instance) -> Config:
    return instance.configs.get()


@pytest.fixture
def browser(owner):
    return signed_in(owner)


def fields_of(browser, instance: Instance, config: Config) -> dict[str, str]:
    """Return the fields of a profile's form as a browser would send them."""
    form = browser.get(address_of("instance-config-edit", instance, config.pk)).context["form"]
    values = {name: form[name].value() for name in form.fields}
    return {
        name: "on" if value is True else str(value) for name, value in values.items() if value not in (None, False)
    }


def test_a_profile_is_created_with_all_it_names(browser, account, instance):
    KernelFactory(id="compute/grub2")
    disk, volume = instance.disks.get(), VolumeFactory(account=account)
    answer = send(
        browser, "instance-config-new", instance,
        **{
            **WHOLE, "label": "other", "kernel": "compute/grub2", "memory_limit": "1024", "run_level": "single",
            "virt_mode": "fullvirt", "root_device": "/dev/sdb", "comments": "two\r\nlines",
            "devices.sdb": f"disk_id:{disk.pk}", "devices.sdc": f"volume_id:{volume.pk}", "helpers.network": "on",
            "interfaces[0].purpose": "public", "interfaces[2].purpose": "vlan", "interfaces[2].label": "backend",
            "interfaces[2].ipam_address": "10.0.0.7/24",
        },
    )  # fmt: skip
    assert "The profile other was created." in text(answer)
    made = instance.configs.get(label="other")
    assert (made.kernel_id, made.memory_limit, made.run_level) == ("compute/grub2", 1024, "single")
    assert (made.virt_mode, made.root_device, made.comments) == ("fullvirt", "/dev/sdb", "two\nlines")
    assert {device.slot: device.disk_id for device in made.devices.all()} == {"sdb": disk.pk}
    assert {device.slot: device.volume_id for device in made.volume_devices.all()} == {"sdc": volume.pk}
    assert [name for name, on in made.helpers.items() if on] == ["network"]
    assert made.interfaces == [
        {"purpose": "public", "label": "", "ipam_address": ""},
        {"purpose": "vlan", "label": "backend", "ipam_address": "10.0.0.7/24"},
    ]
    assert "compute_config_create" in events(instance)


def test_a_new_profile_begins_as_the_api_would_make_it(browser, instance):
    form = browser.get(address_of("instance-config-new", instance)).context["form"]
    assert form["kernel"].value() == "compute/latest-64bit"
    assert all(field.value() for field in form.helpers())


def test_reasons_stand_at_their_fields(browser, instance):
    answer = send(
        browser, "instance-config-new", instance,
        **{
            **WHOLE, "label": "", "memory_limit": "9999", "kernel": "compute/none", "root_device": "no device",
            "devices.sda": "disk_id:77", "interfaces[1].purpose": "vlan", "interfaces[1].label": "no_dash",
            "interfaces[2].purpose": "public", "interfaces[2].ipam_address": "10.0.0.1/24",
        },
    )  # fmt: skip
    assert problems(answer, "label") == "Length must be 1-48 characters"
    assert problems(answer, "memory_limit") == '"Memory limit" must be 0-2048'
    assert problems(answer, "kernel") == "Kernel is not valid"
    assert problems(answer, "root_device") == '"Root device" is not valid'
    assert problems(answer, r"devices\.sda") == "/dev/sda is not valid"
    wrong_vlan = '"VLAN of eth1" is not valid: letters, digits and - only'
    assert problems(answer, r"interfaces\[1\]\.label") == wrong_vlan
    address = 'A public interface has no "Address of eth2".'
    assert problems(answer, r"interfaces\[2\]\.ipam_address") == address
    assert 'class="alert alert-danger"' not in text(answer), "each reason has a field"


def test_vlans_are_disabled_with_the_reason_in_a_region_without_them(browser, instance, config):
    pages = address_of("instance-config-new", instance), address_of("instance-config-edit", instance, config.pk)
    reason = "This region does not offer VLANs."

    def shown(page: str) -> list[tuple[bool, bool, bool]]:
        """Return for each interface: whether the choice has the reason, and which inputs are disabled."""
        form = browser.get(page).context["form"]
        return [
            (
                f"disabled>VLAN: {reason}</option>" in str(purpose),
                " disabled" in str(label),
                " disabled" in str(address),
            )
            for purpose, label, address in form.interfaces()
        ]

    config.interfaces = []
    config.save()
    assert [shown(page) for page in pages] == [[(False, False, False)] * 3] * 2
    assert reason not in text(browser.get(pages[0]))
    Region.objects.update(capabilities=["Computes", "Block Storage"])
    assert [shown(page) for page in pages] == [[(True, True, True)] * 3] * 2
    # an interface that is on a VLAN keeps its values, and saving says why they are not valid
    config.interfaces = [{"purpose": "vlan", "label": "backend", "ipam_address": ""}]
    config.save()
    assert shown(pages[1]) == [(False, False, False), (True, True, True), (True, True, True)]
    answer = send(browser, "instance-config-edit", instance, config.pk, **fields_of(browser, instance, config))
    assert problems(answer, r"interfaces\[0\]\.purpose") == reason


def test_a_form_that_is_sent_back_changes_nothing(browser, instance, config):
    answer = send(browser, "instance-config-edit", instance, config.pk, **fields_of(browser, instance, config))
    assert "The profile default was saved." in text(answer)
    assert events(instance) == []


def test_a_device_is_taken_out(browser, instance, config):
    given = {**fields_of(browser, instance, config), "devices.sda": "", "label": "bare"}
    send(browser, "instance-config-edit", instance, config.pk, **given)
    config.refresh_from_db()
    assert config.label == "bare"
    assert not config.devices.exists()
    assert config.volume_devices.exists()
    assert events(instance) == ["compute_config_update"]


def test_labels_of_volumes_that_the_user_does_not_see_are_not_shown(browser, account, instance, config):
    volume = instance.volumes.get()
    user = GlobalGrantsFactory(user__account=account).user
    GrantFactory(user=user, entity_id=instance.pk, permissions="read_write")
    for where in (
        address_of("instance-configs", instance),
        address_of("instance-config-edit", instance, config.pk),
    ):
        page = text(signed_in(user).get(where))
        assert f"Volume {volume.pk}" in page
        assert volume.label not in page
        assert volume.label in text(browser.get(where))


def test_a_profile_is_deleted(browser, instance, config):
    send(browser, "instance-config-delete", instance, config.pk)
    assert not instance.configs.exists()
    assert "compute_config_delete" in events(instance)


def test_a_profile_that_a_job_boots_is_not_deleted(browser, instance, config):
    send(browser, "instance-config-boot", instance, config.pk)
    assert "Another job runs on the instance. Try again later." in text(
        send(browser, "instance-config-delete", instance, config.pk)
    )
    assert instance.configs.exists()


def test_an_instance_boots_with_it(browser, instance, config):
    send(browser, "instance-config-boot", instance, config.pk)
    job = job_of(instance)
    assert (job.kind, job.data["config"]) == ("boot", config.pk)


def test_a_boot_of_a_running_instance_says_so(browser, instance, config):
    Instance.objects.update(status="running")  # the page of somebody else may be older
    answer = send(browser, "instance-config-boot", instance, config.pk)
    assert f"{instance} is running already." in text(answer)


def test_a_running_instance_reboots_with_it(browser, instance, config):
    Instance.objects.update(status="running")
    assert "Reboot with profile" in text(browser.get(address_of("instance-configs", instance)))
    send(browser, "instance-config-reboot", instance, config.pk)
    assert job_of(instance).kind == "reboot"
