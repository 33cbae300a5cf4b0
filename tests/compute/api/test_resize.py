"""The API of changes of type: their effects, and what prevents them."""

import pytest

from accounts.models import Event, Grant
from compute.drivers.base import DriverError, Progress, Refused
from compute.machine_names import disk_name, machine_name
from compute.models import Host, Instance, InstanceType, Job, Reservation
from compute.services.hosts.placement import REGION_FULL
from compute.worker import engine
from regions.models import Region
from tests.compute.memory_driver import MemoryDriver, failing_at
from tests.compute.run_jobs import finish
from tests.compute.worker.scenarios import deployed
from tests.factories import DiskFactory, HostFactory, InstanceFactory, InstanceTypeFactory, UserFactory

pytestmark = pytest.mark.django_db

INSTANCES = "/v4/compute/instances"


@pytest.fixture
def larger(world) -> InstanceType:
    return InstanceTypeFactory(id="g6-test-4", memory=4096, disk=51200, vcpus=4)


@pytest.fixture
def smaller(world) -> InstanceType:
    return InstanceTypeFactory(id="g6-test-1", memory=1024, disk=10240, vcpus=1)


def ask(api, instance: Instance, verb: str = "resize", **body):
    return api.post(f"{INSTANCES}/{instance.pk}/{verb}", body)


def state() -> list:
    rows = Instance.objects.values("pk", "status", "type", "host"), Reservation.objects.values()
    return [list(each.order_by("pk")) for each in (*rows, Host.objects.values(), Job.objects.values("pk"))]


def refused(api, instance: Instance, verb: str = "resize", **body) -> dict:
    """Return the errors of a request that is refused. Checks that nothing changed."""
    before = state()
    response = ask(api, instance, verb, **body)
    assert response.status_code == 400, response.content
    assert state() == before
    return {error["field"]: error["reason"] for error in response.json()["errors"]}


def reserved(instance: Instance) -> tuple:
    """Return the host and the resources of the instance's only reservation."""
    return Reservation.objects.values_list("host", "memory", "vcpus", "disk").get(instance=instance)


def sizes(instance: Instance, driver: MemoryDriver) -> list[tuple[int, int]]:
    """Return each disk's size, as in our table and as in the driver."""
    disks = driver.machines[machine_name(instance.pk)]["disks"]
    return [(disk.size, disks[disk_name(instance.pk, disk.pk)].size) for disk in instance.disks.order_by("pk")]


@pytest.mark.parametrize(("kind", "disk"), [("larger", 51200), ("smaller", 10240)])
def test_an_instance_gets_another_type_and_runs_again(kind, disk, api, running, driver, request):
    plan = request.getfixturevalue(kind)
    Instance.objects.filter(pk=running.pk).update(alert_cpu=77)

    response = ask(api, running, type=plan.pk)
    assert (response.status_code, response.json()) == (200, {})
    running.refresh_from_db()
    assert running.status == "migrating"
    job = finish(running, driver)

    assert job.state == "done", job.error
    assert (running.status, running.type, running.alert_cpu) == ("running", plan, 77)
    assert reserved(running) == (running.host_id, plan.memory, plan.vcpus, plan.disk)
    assert sizes(running, driver) == [(disk - 512, disk - 512), (512, 512)]
    assert Event.objects.get(action="compute_resize").status == "finished"
    assert Event.objects.filter(action="compute_boot", status="finished").count() == 2


def test_an_instance_shows_migrating_during_a_resize(api, running, larger):
    ask(api, running, type=larger.pk)
    assert api.get(f"{INSTANCES}/{running.pk}").json()["status"] == "migrating"


def test_a_smaller_type_that_fits_is_taken_without_a_resize_of_disks(api, running, driver, smaller):
    running.disks.filter(filesystem="ext4").update(size=smaller.disk - 512)

    assert ask(api, running, type=smaller.pk, allow_auto_disk_resize=False).status_code == 200

    assert finish(running, driver).state == "done"
    assert api.get(f"{INSTANCES}/{running.pk}").json()["type"] == smaller.pk
    assert "resize_disk" not in driver.calls


def test_an_instance_that_is_off_stays_off(api, world, driver, larger):
    instance = deployed(world, driver, running=False)
    ask(api, instance, type=larger.pk)
    assert finish(instance, driver).state == "done"
    assert (instance.status, instance.type) == ("offline", larger)


def test_an_instance_stopped_by_maintenance_stays_stopped(api, world, driver, larger):
    instance = deployed(world, driver, running=False)
    Instance.objects.filter(pk=instance.pk).update(status="stopped")
    ask(api, instance, type=larger.pk)
    assert finish(instance, driver).state == "done"
    assert instance.status == "stopped"


def test_where_its_host_has_no_room_it_moves(api, world, running, driver, larger):
    Host.objects.filter(pk=running.host_id).update(memory=larger.memory - 1)
    other = HostFactory(region=world.region)

    ask(api, running, type=larger.pk)
    assert Reservation.objects.filter(instance=running).count() == 2, "both, until it has arrived"
    finish(running, driver)

    assert running.host == other
    assert driver.machines[machine_name(running.pk)]["host"] == str(other.uuid)
    assert reserved(running) == (other.pk, larger.memory, larger.vcpus, larger.disk)
    assert Host.objects.get(pk=world.host.pk).memory_used == 0


def test_where_no_host_has_room_it_is_refused(api, running, larger):
    Host.objects.filter(pk=running.host_id).update(memory=larger.memory - 1)
    assert refused(api, running, type=larger.pk) == {"type": REGION_FULL}


@pytest.mark.parametrize("call", ["stop", "resize_disk", "define", "receive"])
@pytest.mark.parametrize("moves", [False, True])
def test_a_failure_leaves_all_as_it_was(call, moves, api, world, running, driver, larger, settings):
    if moves:
        Host.objects.filter(pk=running.host_id).update(memory=larger.memory - 1)
        HostFactory(region=world.region)
    before = reserved(running), sizes(running, driver), running.host
    ask(api, running, type=larger.pk)
    times = iter(range(settings.JOB_ATTEMPTS + 1))

    def hook(number: int, name: str) -> None:
        if name == call and next(times, None) is not None:
            raise DriverError("The host does not answer.")

    driver.before = hook
    assert finish(running, driver).state == "failed"

    assert (running.status, running.type) == ("running", world.type)
    assert (reserved(running), sizes(running, driver), running.host) == before
    assert Event.objects.get(action="compute_resize").message == "The host does not answer."


def test_a_disk_whose_files_do_not_fit_ends_it(api, running, driver, smaller):
    ask(api, running, type=smaller.pk)
    driver.before = failing_at(len(driver.calls) + 1, Refused("The files on the disk need more."), times=1)
    assert finish(running, driver).state == "failed"
    assert (running.status, running.type_id) == ("running", "g6-test-2")
    assert sizes(running, driver) == [(25088, 25088), (512, 512)]


def test_the_event_tells_rate_and_time_left_of_the_copy(api, world, running, driver, larger):
    ask(api, running, type=larger.pk)
    driver.receive = lambda machine, source: Progress(percent=40, rate=101.26, remaining=61.7)
    job = running.jobs.get(finished_at=None)
    engine.run(job.pk, driver)
    event = Event.objects.get(action="compute_resize")
    assert (event.rate, event.time_remaining) == ("101.3 MB/s", 62)


# --- disks -----------------------------------------------------------------------------------------------


def test_disks_that_do_not_fit_are_refused_unless_one_may_be_resized(api, running, smaller):
    reason = (
        "Compute has allocated more disk than the new service plan allows. Delete or resize disks smaller. "
        "They need 25600 MB, and the type has 10240 MB."
    )
    assert refused(api, running, type=smaller.pk, allow_auto_disk_resize=False) == {"type": reason}


@pytest.mark.parametrize("filesystem", ["raw", "ext4", "swap"])
def test_with_more_than_a_data_and_a_swap_disk_none_is_resized(filesystem, api, running, driver, smaller, larger):
    disk = running.disks.earliest("pk")
    disk.size -= 1000
    disk.save()
    DiskFactory(instance=running, size=1000, filesystem=filesystem)
    assert "25600 MB" in refused(api, running, type=smaller.pk)["type"]
    ask(api, running, type=larger.pk)
    finish(running, driver)
    assert "resize_disk" not in driver.calls


def test_without_leave_the_disk_keeps_its_size(api, running, driver, larger):
    ask(api, running, type=larger.pk, allow_auto_disk_resize=False)
    assert finish(running, driver).state == "done"
    assert sizes(running, driver) == [(25088, 25088), (512, 512)]


# --- what stands in its way ------------------------------------------------------------------------------


def test_a_type_that_cannot_be_had_is_refused(api, running, world):
    InstanceTypeFactory(id="g5-old", deprecated=True)
    InstanceTypeFactory(id="g1-gpu", type_class="gpu")
    assert refused(api, running, type="nope") == {"type": "A valid plan type by that ID was not found"}
    assert refused(api, running, type=world.type.pk) == {"type": "Compute is already running this service plan."}
    assert refused(api, running, type="g5-old") == {"type": "This type is no longer offered."}
    assert refused(api, running, type="g1-gpu") == {"type": "The compute's region does not offer GPU Computes."}
    assert "type" in refused(api, running)
    assert "allow_auto_disk_resize" in refused(api, running, type="x", allow_auto_disk_resize="perhaps")


def test_types_that_the_region_offers_are_accepted(api, running, driver):
    Region.objects.update(capabilities=["Computes", "GPU Computes"])
    InstanceTypeFactory(id="g1-gpu", type_class="gpu", memory=8192)
    assert ask(api, running, type="g1-gpu").status_code == 200


def test_a_busy_instance_is_refused(api, world, running, larger):
    assert refused(api, world.create(label="fresh"), type=larger.pk) == {None: "Compute busy."}
    ask(api, running, type=larger.pk)
    assert refused(api, running, type=larger.pk) == {None: "Compute busy."}


def test_only_who_may_change_it_may_resize(client_for, world, running, larger):
    reader = UserFactory(account=world.account, restricted=True)
    for level, status in ((None, 404), ("read_only", 403), ("read_write", 200)):
        if level:
            Grant.objects.update_or_create(
                user=reader, entity_type="compute", entity_id=running.pk, defaults={"permissions": level}
            )
        assert ask(client_for(reader), running, type=larger.pk).status_code == status


# --- upgrades --------------------------------------------------------------------------------------------


def test_an_instance_of_a_deprecated_type_is_upgraded(api, world, running, driver, larger):
    InstanceType.objects.filter(pk=world.type.pk).update(deprecated=True, successor=larger)
    response = ask(api, running, "mutate")
    assert (response.status_code, response.json()) == (200, {})
    assert finish(running, driver).state == "done"
    assert (running.status, running.type) == ("running", larger)
    assert sizes(running, driver)[0] == (50688, 50688)
    assert Event.objects.get(action="compute_mutate").status == "finished"


@pytest.mark.parametrize("fields", [{}, {"deprecated": True}, {"successor": "g6-test-4"}])
def test_without_a_newer_type_there_is_no_upgrade(fields, api, world, running, larger):
    columns = {"successor_id" if name == "successor" else name: value for name, value in fields.items()}
    InstanceType.objects.filter(pk=world.type.pk).update(**columns)
    assert refused(api, running, "mutate") == {None: "There is no upgrade of this compute's type."}


def test_an_upgrade_needs_room_for_the_disks(api, world, smaller):
    InstanceType.objects.filter(pk=world.type.pk).update(deprecated=True, successor=smaller)
    instance = InstanceFactory(account=world.account, region=world.region, host=world.host, type=world.type)
    DiskFactory(instance=instance, size=smaller.disk + 1)
    assert "10241 MB" in refused(api, instance, "mutate")[None]
