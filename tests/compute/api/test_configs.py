"""The API of configuration profiles: create, change and delete."""

import pytest
from django.db.models.functions import Now

from accounts.models import Event, Grant, User
from compute.jobs.queue import enqueue
from compute.models import VLAN, Config, Disk, Host, Instance, InstanceType, Job, VolumeDevice
from compute.services.instances import power
from tests.client import errors
from tests.compute.run_jobs import work
from tests.compute.worker.scenarios import deployed, volume_of
from tests.factories import ConfigFactory, DiskFactory, InstanceFactory, KernelFactory, RegionFactory, VolumeFactory

pytestmark = pytest.mark.django_db

SLOTS = ("sda", "sdb", "sdc", "sdd", "sde", "sdf", "sdg", "sdh")
ALL_ON = {
    "updatedb_disabled": True,
    "distro": True,
    "modules_dep": True,
    "network": True,
    "devtmpfs_automount": True,
}


@pytest.fixture
def instance(world) -> Instance:
    """An instance that is off and empty."""
    return InstanceFactory(account=world.account, region=world.region, type=world.type, host=world.host)


@pytest.fixture
def disks(instance) -> list[Disk]:
    return [DiskFactory(instance=instance) for _ in range(2)]


@pytest.fixture
def config(instance, disks) -> Config:
    return ConfigFactory(instance=instance, label="first", disk=disks[0])


def path(config: Config | Instance) -> str:
    if isinstance(config, Instance):
        return f"/v4/compute/instances/{config.pk}/configs"
    return f"/v4/compute/instances/{config.instance_id}/configs/{config.pk}"


def disk(pk: int) -> dict:
    return {"disk_id": pk, "volume_id": None}


def volume(pk: int) -> dict:
    return {"disk_id": None, "volume_id": pk}


def event_of(action: str) -> Event:
    return Event.objects.get(action=action)


# --- making ----------------------------------------------------------------------------------------------


def test_missing_fields_have_the_defaults(api, instance, disks):
    response = api.post(path(instance), {"label": "mine", "devices": {"sdb": {"disk_id": disks[0].pk}}})

    assert response.status_code == 200, response.content
    made = response.json()
    assert made["devices"] == {**dict.fromkeys(SLOTS), "sdb": disk(disks[0].pk)}
    assert made["helpers"] == ALL_ON
    assert {
        name: made[name] for name in made if name not in ("id", "devices", "helpers", "created", "updated")
    } == {
        "label": "mine",
        "kernel": "compute/latest-64bit",
        "comments": "",
        "memory_limit": 0,
        "run_level": "default",
        "virt_mode": "paravirt",
        "interfaces": [],
        "root_device": "/dev/sda",
        "initrd": None,
    }
    assert api.get(f"{path(instance)}/{made['id']}").json() == made
    assert api.get(path(instance)).json()["data"] == [made]


def test_everything_can_be_said(api, instance, disks):
    body = {
        "label": "x" * 48,
        "kernel": "compute/grub2",
        "comments": " mine \n",
        "memory_limit": 2048,
        "run_level": "binbash",
        "virt_mode": "fullvirt",
        "root_device": "/dev/disk/by-id/root_1",
        "interfaces": [{"purpose": "public", "label": "", "ipam_address": None}],
        "helpers": dict.fromkeys(ALL_ON, False),
        "devices": {**dict.fromkeys(SLOTS), "sda": disk(disks[0].pk), "sdh": disk(disks[1].pk)},
    }
    response = api.post(path(instance), body)
    assert response.status_code == 200, response.content
    made = response.json()
    assert {name: made[name] for name in body} == body


def test_helpers_that_are_not_named_are_on(api, instance):
    made = api.post(path(instance), {"label": "mine", "devices": {}, "helpers": {"distro": False}}).json()
    assert made["helpers"] == {**ALL_ON, "distro": False}


def test_making_one_is_an_event_of_the_instance_that_names_it(api, instance):
    made = api.post(path(instance), {"label": "mine", "devices": {}}).json()
    event = event_of("compute_config_create")
    assert (event.status, event.entity_id, event.secondary_id) == ("notification", instance.pk, str(made["id"]))


def test_label_and_devices_are_required(api, instance):
    assert errors(api.post(path(instance), {})) == {
        "label": "label is required",
        "devices": "devices is required",
    }


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("label", "", "Length must be 1-48 characters"),
        ("label", "x" * 49, "Length must be 1-48 characters"),
        ("kernel", "compute/none", "kernel is not valid"),
        ("kernel", 5, "kernel is not valid"),
        ("memory_limit", -1, "memory_limit must be 0-2147483647"),
        ("memory_limit", 2049, "memory_limit must be 0-2048"),
        ("memory_limit", "64", "memory_limit is not valid"),
        ("run_level", "4", "run_level is not valid"),
        ("virt_mode", "none", "virt_mode is not valid"),
        ("root_device", "/dev/sda; rm", "root_device is not valid"),
        ("root_device", "", "root_device is not valid"),
        ("comments", 5, "comments is not valid"),
        ("helpers", {"distro": "yes"}, "helpers.distro is not valid"),
        ("helpers", [], "helpers is not valid"),
        ("devices", [], "devices is not valid"),
        ("devices", {"sda": 5}, "devices.sda is not valid"),
    ],
)
def test_a_bad_value_is_refused_by_name(api, instance, config, field, value, reason):
    body = {"label": "mine", "devices": {}, field: value}
    for answer in (api.post(path(instance), body), api.put(path(config), {field: value})):
        (named,) = errors(answer).items()
        assert named[0].startswith(field)
        assert named[1] == reason
    assert instance.configs.get().label == "first"


def test_all_errors_are_reported_together(api, instance):
    body = {
        "label": "mine",
        "kernel": "compute/none",
        "memory_limit": 4096,
        "interfaces": [{"purpose": "public", "label": "no"}],
        "devices": {"sda": disk(1), "sdb": volume(2), "sdc": {}},
    }
    assert set(errors(api.post(path(instance), body))) == {
        "kernel", "memory_limit", "interfaces[0].label", "devices.sda.disk_id", "devices.sdb.volume_id",
        "devices.sdc",
    }  # fmt: skip
    assert not instance.configs.exists()
    assert not Event.objects.exists()


# --- devices ---------------------------------------------------------------------------------------------


def put_devices(api, config: Config, **devices):
    return api.put(path(config), {"devices": devices})


@pytest.mark.parametrize("device", [{}, {"disk_id": None, "volume_id": None}, {"disk_id": 1, "volume_id": 1}])
def test_a_device_is_a_disk_or_a_volume(api, config, device):
    assert errors(put_devices(api, config, sda=device)) == {
        "devices.sda": "Exactly one of disk_id and volume_id is needed."
    }


def test_a_disk_must_be_one_of_the_instance_that_stays(api, config, disks, world):
    another = DiskFactory(instance=InstanceFactory(account=world.account, host=world.host, type=world.type))
    Disk.objects.filter(pk=disks[1].pk).update(status="deleting")
    refused = errors(put_devices(api, config, sda=disk(another.pk), sdb=disk(disks[1].pk), sdc=disk(2**63 - 1)))
    fields = [f"devices.{slot}.disk_id" for slot in ("sda", "sdb", "sdc")]
    assert refused == {field: f"{field} is not valid" for field in fields}


@pytest.mark.parametrize("number", [2**63, -1, True, "5", 1.5])
def test_a_number_that_no_disk_has_is_refused(api, config, number):
    assert set(errors(put_devices(api, config, sda={"disk_id": number}))) == {"devices.sda.disk_id"}


def test_nothing_is_in_two_slots(api, config, disks, world):
    mine = VolumeFactory(account=world.account)
    devices = {"sda": disk(disks[0].pk), "sdb": disk(disks[0].pk), "sdc": volume(mine.pk), "sdd": volume(mine.pk)}
    assert errors(put_devices(api, config, **devices)) == {
        "devices.sdb.disk_id": "The slot sda already has it.",
        "devices.sdd.volume_id": "The slot sdc already has it.",
    }


def test_a_volume_of_the_account_that_is_free_or_attached_here_is_shown_in_its_slot(api, config, instance, world):
    free, mine = VolumeFactory(account=world.account), VolumeFactory(account=world.account, instance=instance)
    response = put_devices(api, config, sdb=volume(free.pk), sdc=volume(mine.pk))
    assert response.status_code == 200, response.content
    assert response.json()["devices"] == {**dict.fromkeys(SLOTS), "sdb": volume(free.pk), "sdc": volume(mine.pk)}
    assert api.get(path(config)).json() == response.json()
    assert api.get(path(instance)).json()["data"] == [response.json()]


def test_a_volume_that_is_elsewhere_is_refused(api, config, world, stranger):
    other = InstanceFactory(account=world.account, host=world.host, type=world.type)
    devices = {
        "sda": volume(VolumeFactory(account=stranger.account).pk),
        "sdb": volume(VolumeFactory(account=world.account, region=RegionFactory(id="us-other")).pk),
        "sdc": volume(VolumeFactory(account=world.account, instance=other).pk),
    }
    assert errors(put_devices(api, config, **devices)) == {
        "devices.sda.volume_id": "devices.sda.volume_id is not valid",
        "devices.sdb.volume_id": "The volume is in another region.",
        "devices.sdc.volume_id": "The volume is already attached to another compute.",
    }


def test_a_restricted_user_uses_only_volumes_that_it_may_change(client_for, config, world):
    helper = User.objects.create_user("worldhelper", account=world.account, restricted=True)
    Grant.objects.create(user=helper, entity_type="compute", entity_id=config.instance_id, permissions="read_write")
    api, mine = client_for(helper), VolumeFactory(account=world.account)
    assert "devices.sda.volume_id" in errors(put_devices(api, config, sda=volume(mine.pk)))

    grant = Grant.objects.create(user=helper, entity_type="volume", entity_id=mine.pk, permissions="read_only")
    refused = put_devices(api, config, sda=volume(mine.pk))
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (403, "devices.sda.volume_id")

    Grant.objects.filter(pk=grant.pk).update(permissions="read_write")
    assert put_devices(api, config, sda=volume(mine.pk)).status_code == 200
    grant.delete()
    shown = api.get(path(config)).json()
    assert api.put(path(config), shown).json() == shown, "what it got can be put back"


# --- changing --------------------------------------------------------------------------------------------


def test_missing_fields_keep_their_values(api, config, disks):
    Config.objects.filter(pk=config.pk).update(comments="mine", helpers={**ALL_ON, "network": False})
    before = api.get(path(config)).json()

    after = api.put(path(config), {"label": "second", "helpers": {"distro": False}}).json()

    changed = {"label": "second", "helpers": {**ALL_ON, "network": False, "distro": False}}
    assert after == {**before, **changed, "updated": after["updated"]}
    assert event_of("compute_config_update").secondary_label == "second"


def test_devices_that_are_given_are_all_there_are(api, config, disks):
    after = put_devices(api, config, sdc=disk(disks[1].pk), sda=None).json()
    assert after["devices"] == {**dict.fromkeys(SLOTS), "sdc": disk(disks[1].pk)}
    assert put_devices(api, config).json()["devices"] == dict.fromkeys(SLOTS)


def test_a_slot_can_change_from_a_disk_to_a_volume_and_back(api, config, disks, world):
    mine = VolumeFactory(account=world.account)
    assert put_devices(api, config, sda=volume(mine.pk)).json()["devices"]["sda"] == volume(mine.pk)
    assert put_devices(api, config, sda=disk(disks[1].pk)).json()["devices"]["sda"] == disk(disks[1].pk)
    assert not VolumeDevice.objects.exists()


def test_a_put_of_the_answer_of_get_makes_no_event(api, config, world):
    mine = VolumeFactory(account=world.account)
    put_devices(api, config, sda=volume(mine.pk))
    Config.objects.filter(pk=config.pk).update(memory_limit=4096, comments=None)
    Event.objects.all().delete()
    VolumeFactory._meta.model.objects.filter(pk=mine.pk).update(
        instance=InstanceFactory(account=world.account, host=world.host, type=world.type)
    )
    shown = api.get(path(config)).json()
    answer = api.put(path(config), shown)
    assert answer.status_code == 200, answer.content
    assert answer.json() == shown
    assert not Event.objects.exists()


def test_null_is_no_helpers_devices_or_interfaces_given(api, config):
    before = api.get(path(config)).json()
    assert api.put(path(config), {"helpers": None, "devices": None, "interfaces": None}).json() == before


def test_an_instance_boots_its_present_profile(api, world, driver):
    instance = deployed(world, driver, running=False)
    config = instance.configs.get()
    second = instance.disks.latest("pk")
    put_devices(api, config, sdd=disk(second.pk))
    work(power.boot(world.actor, instance), driver)
    assert driver.machines[f"skerry-{instance.pk}"]["boot"].devices == {
        "sdd": f"skerry-{instance.pk}-disk-{second.pk}"
    }


def test_an_instance_sends_at_the_rate_of_its_plan_from_its_next_boot_on(world, driver):
    instance = deployed(world, driver, running=False)
    for rate in (1000, 2000):
        InstanceType.objects.filter(pk=instance.type_id).update(network_out=rate)
        work(power.boot(world.actor, instance), driver)
        assert driver.machines[f"skerry-{instance.pk}"]["boot"].network_out == rate
        work(power.shutdown(world.actor, instance), driver)


def test_a_boot_has_the_numbers_of_vlans_and_the_networks_routed_to_the_instance(api, world, driver, routed):
    world.region.capabilities = ["Computes", "Vlans"]
    world.region.save()
    instance = deployed(world, driver, running=False)
    wanted = [{"purpose": "vlan", "label": "backend", "ipam_address": "10.0.0.1/24"}, {"purpose": "public"}]
    assert api.put(path(instance.configs.get()), {"interfaces": wanted}).status_code == 200
    made = api.post("/v4/networking/ipv6/ranges", {"prefix_length": 64, "compute_id": instance.pk}).json()
    assert work(power.boot(world.actor, instance), driver).state == "done"
    spec = driver.machines[f"skerry-{instance.pk}"]["boot"]
    number = VLAN.objects.get(label="backend").pk
    assert [each.get("number") for each in spec.interfaces] == [number, None]
    assert spec.ranges == (made["range"],)


def test_an_instance_boots_with_the_volumes_of_its_profile(api, world, driver):
    instance = deployed(world, driver, running=False)
    config = instance.configs.get()
    first, mine = instance.disks.earliest("pk"), volume_of(world, driver)
    put_devices(api, config, sda=disk(first.pk), sdb=volume(mine.pk))
    assert work(power.boot(world.actor, instance), driver).state == "done"
    assert driver.machines[f"skerry-{instance.pk}"]["boot"].devices == {
        "sda": f"skerry-{instance.pk}-disk-{first.pk}",
        "sdb": f"skerry-volume-{mine.pk}",
    }
    assert driver.plugged(f"skerry-{instance.pk}") == {f"skerry-volume-{mine.pk}": "data"}


def test_an_instance_boots_from_a_volume_alone(api, world, driver):
    instance = deployed(world, driver, running=False)
    put_devices(api, instance.configs.get(), sda=volume(volume_of(world, driver).pk))
    assert work(power.boot(world.actor, instance), driver).state == "done"


def test_a_free_volume_is_attached_when_a_profile_names_it_and_stays_when_it_does_no_more(
    api, config, instance, world
):
    mine = VolumeFactory(account=world.account)
    put_devices(api, config, sda=volume(mine.pk))
    event = event_of("volume_attach")
    assert (event.entity_id, event.secondary_id, event.status) == (mine.pk, str(instance.pk), "notification")
    put_devices(api, config)
    mine.refresh_from_db()
    assert mine.instance == instance
    assert not VolumeDevice.objects.exists()
    put_devices(api, config, sdb=volume(mine.pk))
    assert Event.objects.filter(action="volume_attach").count() == 1


@pytest.mark.parametrize("status", ["creating", "resizing"])
def test_a_volume_that_is_at_work_is_taken_and_attached(api, config, world, status):
    mine = VolumeFactory(account=world.account, status=status)
    assert put_devices(api, config, sda=volume(mine.pk)).status_code == 200
    mine.refresh_from_db()
    assert mine.instance == config.instance


def test_an_instance_that_moves_gets_no_volumes(api, config, instance, world):
    mine = VolumeFactory(account=world.account)
    Instance.objects.filter(pk=instance.pk).update(status="migrating")
    assert errors(put_devices(api, config, sda=volume(mine.pk))) == {None: "Compute busy."}
    mine.refresh_from_db()
    assert mine.instance is None


def test_a_boot_with_a_volume_that_the_instance_has_no_more_fails_and_says_so(world, driver):
    instance = deployed(world, driver, running=False)
    mine = VolumeFactory(account=world.account, label="lost")
    VolumeDevice.objects.create(config=instance.configs.get(), slot="sdc", volume=mine)
    job = work(power.boot(world.actor, instance), driver)
    assert (job.state, job.error) == ("failed", "The volume lost in sdc is not attached to the compute.")


# --- deleting --------------------------------------------------------------------------------------------


def test_a_deleted_profile_is_gone(api, config, instance):
    assert api.delete(path(config)).json() == {}
    assert api.get(path(config)).status_code == 404
    assert api.delete(path(config)).status_code == 404
    assert api.put(path(config), {}).status_code == 404
    event = event_of("compute_config_delete")
    assert (event.entity_id, event.secondary_label) == (instance.pk, "first")


def test_an_instance_runs_on_when_the_profile_it_booted_goes(api, world, driver):
    instance = deployed(world, driver)
    config = instance.configs.get()
    assert api.delete(path(config)).status_code == 200
    instance.refresh_from_db()
    assert (instance.status, instance.booted_config_id) == ("running", None)


@pytest.mark.parametrize("stage", ["waiting", "booting"])
def test_a_profile_stays_while_a_job_is_about_to_boot_it(stage, api, world, driver):
    instance = deployed(world, driver, running=False)
    config, other = instance.configs.get(), ConfigFactory(instance=instance)
    job = power.boot(world.actor, instance, config.pk)
    if stage == "booting":
        Job.objects.filter(pk=job.pk).update(lease_until=Now())
    assert errors(api.delete(path(config))) == {None: "Compute busy."}
    assert api.delete(path(other)).status_code == 200

    assert work(job, driver).state == "done"
    assert api.delete(path(config)).status_code == 200


def test_other_jobs_leave_profiles_alone(api, world, driver):
    instance = deployed(world, driver)
    enqueue("shutdown", instance, world.actor)
    assert api.put(path(instance.configs.get()), {"label": "another"}).status_code == 200
    assert api.delete(path(instance.configs.get())).status_code == 200


def test_an_instance_that_is_going_gets_no_profiles(api, instance):
    Instance.objects.filter(pk=instance.pk).update(status="deleting")
    assert errors(api.post(path(instance), {"label": "mine", "devices": {}})) == {None: "Compute busy."}


# --- who may ---------------------------------------------------------------------------------------------


def test_writing_needs_read_write_on_the_instance(client_for, config, instance, world, stranger):
    helper = User.objects.create_user("worldhelper", account=world.account, restricted=True)
    grant = Grant.objects.create(user=helper, entity_type="compute", entity_id=instance.pk, permissions="read_only")
    body = {"label": "mine", "devices": {}}

    def answers(api) -> list[int]:
        calls = (api.post(path(instance), body), api.put(path(config), body), api.delete(path(config)))
        return [answer.status_code for answer in calls]

    assert answers(client_for(stranger)) == [404, 404, 404]
    assert answers(client_for(helper)) == [403, 403, 403]
    grant.permissions = "read_write"
    grant.save()
    assert answers(client_for(helper)) == [200, 200, 200]


def test_a_profile_of_another_instance_is_not_found(api, config, world):
    other = InstanceFactory(account=world.account, host=world.host, type=world.type)
    assert api.put(f"{path(other)}/{config.pk}", {"label": "mine"}).status_code == 404
    assert api.delete(f"{path(other)}/{config.pk}").status_code == 404


@pytest.mark.parametrize("method", ["post", "put"])
def test_there_are_no_slots_beyond_sdh(api, instance, config, disks, method):
    where = path(instance if method == "post" else config)
    devices = {"sda": disk(disks[0].pk), "sdi": disk(disks[1].pk), "sdz": None, "": "x"}
    refused = getattr(api, method)(where, {"label": "beyond", "devices": devices})
    assert errors(refused) == {"devices.sdi": "devices.sdi is not valid", "devices.": "devices. is not valid"}
    taken = getattr(api, method)(where, {"label": "beyond", "devices": {"sda": disk(disks[0].pk), "sdi": None}})
    assert list(taken.json()["devices"]) == list(SLOTS)


def test_a_kernel_that_the_host_does_not_boot_is_refused(api, instance, config):
    old = KernelFactory(id="compute/32bit", architecture="i386")
    Host.objects.update(architectures=["x86_64"])
    refusal = {"kernel": "kernel is not valid: computes of this region do not boot i386."}
    assert errors(api.post(path(instance), {"label": "old", "devices": {}, "kernel": old.pk})) == refusal
    assert errors(api.put(path(config), {"kernel": old.pk})) == refusal
    Host.objects.update(architectures=None)
    assert api.put(path(config), {"kernel": old.pk}).status_code == 200


def test_a_kernel_of_xen_is_refused_and_stays_where_it_is(api, instance, config):
    xen = KernelFactory(id="compute/latest-2.6", kvm=False)
    refusal = {"kernel": "kernel is not valid: it needs Xen."}
    assert errors(api.post(path(instance), {"label": "xen", "devices": {}, "kernel": xen.pk})) == refusal
    assert errors(api.put(path(config), {"kernel": xen.pk})) == refusal
    Config.objects.filter(pk=config.pk).update(kernel=xen)
    kept = api.put(path(config), {"kernel": xen.pk, "comments": "from before"})
    assert (kept.json()["kernel"], kept.json()["comments"]) == (xen.pk, "from before")
