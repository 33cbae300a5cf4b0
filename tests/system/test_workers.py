"""No job is lost or doubled: real workers die at every step, and the broker goes away."""

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import psycopg
import pytest
from django.db.models import F

from accounts.models import Event
from compute.machine_names import disk_name, machine_name
from compute.models import Address, AddressPool, Instance, Job, PacketFilter
from compute.services.instances import instances, power
from compute.services.networking.firewalls import firewalls, mail_ports
from tests.system.conftest import ROOT, Fleet, settled
from tests.waiting import wait_for
from tests.world import STRONG, World

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system]

TIMEOUT_SECONDS = 120
"""Seconds within which a request is answered on any machine. A process that waits for a broker waits forever."""
LEAST_KILLS = 4


def assert_all_running(count: int, hypervisor) -> None:
    """Check that every instance runs, has its own addresses, and was created and booted exactly once."""
    every = list(Instance.objects.all())
    assert len(every) == count
    assert {instance.status for instance in every} == {"running"}
    addresses = [address for instance in every for address in instance.ipv4]
    assert len(addresses) == len(set(addresses)) == count
    assert Address.objects.filter(instance__isnull=False).count() == count
    assert Job.objects.filter(kind="provision", state="done").count() == count
    assert Job.objects.count() == count
    for action in ("compute_create", "compute_boot"):
        assert Event.objects.filter(action=action, status="finished", percent_complete=100).count() == count
        assert Event.objects.filter(action=action).count() == count
    for instance in every:
        disks = instance.disks.all()
        assert {disk.status for disk in disks} == {"ready"}
        assert hypervisor.disks(machine_name(instance.pk)) == {disk_name(instance.pk, disk.pk) for disk in disks}


def test_a_worker_that_dies_while_it_tells_a_host_loses_no_firewall(fleet: Fleet, world: World, hypervisor):
    """The worker is killed before and after the call. Of rules that change meanwhile, the host has the last."""
    instance = world.create()
    rule = {"protocol": "TCP", "action": "ACCEPT", "addresses": {"ipv4": ["0.0.0.0/0"]}}
    rules = {"inbound_policy": "DROP", "outbound_policy": "ACCEPT"}
    firewall = firewalls.create(world.actor, firewalls.FirewallSpec("web", rules, [instance.pk]))
    hypervisor.script("crash", call="set_firewall")
    hypervisor.script("crash_after", call="set_firewall")
    fleet.worker()
    fleet.beat()
    for port in range(1, 6):
        firewalls.set_rules(world.actor, firewall, {"inbound": [{**rule, "ports": str(port)}]})

    wait_for(lambda: settled() and not PacketFilter.objects.filter(applied__lt=F("wanted")).exists())

    applied = hypervisor.firewall(machine_name(instance.pk))
    assert [each.ports for each in applied.rules.inbound] == [((5, 5),)]
    assert applied.version == PacketFilter.objects.get().wanted
    assert {fault.hits > 0 for fault in hypervisor.faults()} == {True}


def test_a_worker_that_dies_while_it_tells_hosts_of_mail_ports_leaves_none_closed(
    fleet: Fleet, world: World, hypervisor
):
    """Each instance has its mail ports closed from its start. Staff then open them for the account."""
    made = [world.create() for _ in range(2)]
    fleet.worker()
    fleet.beat()
    wait_for(settled)
    applied = [hypervisor.firewall(machine_name(instance.pk)) for instance in made]
    assert [each.closed_ports for each in applied] == [(25, 465, 587)] * 2
    hypervisor.script("crash", call="set_firewall")
    hypervisor.script("crash_after", call="set_firewall")

    assert mail_ports.set_open(world.actor, world.account, True) == 2

    wait_for(lambda: not PacketFilter.objects.filter(applied__lt=F("wanted")).exists())
    for instance in made:
        applied = hypervisor.firewall(machine_name(instance.pk))
        assert (applied.rules, applied.closed_ports) == (None, ())
    assert {fault.hits > 0 for fault in hypervisor.faults()} == {True}


def test_a_worker_that_dies_at_every_step_loses_and_doubles_nothing(fleet: Fleet, world: World, hypervisor):
    """Each call of each kind kills its worker once before its effect and once after it."""
    made = [world.create() for _ in range(2)]
    for call in ("define", "create_disk", "start", "power"):
        hypervisor.script("crash", call=call)
        hypervisor.script("crash_after", call=call)
    fleet.worker()
    fleet.beat()
    wait_for(settled)
    assert_all_running(2, hypervisor)

    for call in ("stop", "start"):
        hypervisor.script("crash", call=call)
        hypervisor.script("crash_after", call=call)
    for instance in made:
        instance.refresh_from_db()
        power.reboot(world.actor, instance)
    wait_for(settled)
    assert set(Instance.objects.values_list("status", flat=True)) == {"running"}
    assert Event.objects.filter(action="compute_reboot", status="finished").count() == 2

    hypervisor.script("crash", call="undefine")
    hypervisor.script("crash_after", call="undefine")
    for instance in made:
        instances.delete(world.actor, instance)
    wait_for(settled)
    assert not Instance.objects.exists()
    assert not Address.objects.filter(instance__isnull=False).exists()
    assert Job.objects.exclude(state="done").count() == 0


class Client(threading.Thread):
    """A client that creates instances over HTTP, one after the other."""

    def __init__(self, port: int, token: str, world: World, count: int):
        super().__init__()
        self.port, self.token, self.count = port, token, count
        self.body = json.dumps(
            {"region": world.region.pk, "type": world.type.pk, "image": world.image.pk, "root_pass": STRONG}
        )
        self.statuses: list[int] = []

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_SECONDS)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        for _ in range(self.count):
            connection.request("POST", "/v4/compute/instances", self.body, headers)
            response = connection.getresponse()
            response.read()
            self.statuses.append(response.status)
        connection.close()


@pytest.fixture
def token(world: World) -> str:
    from accounts.models import User
    from accounts.services.tokens import create_token

    return create_token(User.objects.get(pk=world.actor.user_id), "test")[1]


def enough_addresses(world: World, count: int) -> None:
    from compute.services.networking.pools import fill_pool

    pool = AddressPool.objects.create(
        region=world.region, kind="public", network="198.19.0.0/20", gateway="198.19.0.1"
    )
    fill_pool(pool)
    assert Address.objects.filter(public=True, instance=None).count() >= count


def test_instances_created_while_workers_are_killed_all_run(fleet, world, hypervisor, token):
    """The variable CHAOS=1000 sets the number of instances, for eight clients. The default is a few dozen."""
    total = int(os.environ.get("CHAOS", "24"))
    enough_addresses(world, total)
    fleet.web()
    for _ in range(2):
        fleet.worker()
    fleet.beat()
    clients = [Client(fleet.port, token, world, total // 8) for _ in range(8)]
    rng = random.Random(7)

    for client in clients:
        client.start()

    def clients_at_work() -> bool:
        return any(client.is_alive() for client in clients)

    kills = 0
    deadline = time.monotonic() + max(6, total / 20)
    while kills < LEAST_KILLS or clients_at_work() or (time.monotonic() < deadline and not settled()):
        fleet.kill_one(rng)
        kills += 1
        time.sleep(0.7)
    for client in clients:
        client.join()

    wait_for(settled, 600 + total)
    assert {status for client in clients for status in client.statuses} == {200}
    assert_all_running(total // 8 * 8, hypervisor)


def test_requests_go_on_without_the_broker_and_their_jobs_run_when_it_is_back(fleet, world, hypervisor, token):
    fleet.web()
    fleet.worker()
    fleet.beat()
    warm = Client(fleet.port, token, world, 1)
    warm.start()
    warm.join()
    wait_for(settled)

    import redis

    pid = redis.Redis.from_url(fleet.env["REDIS_URL"]).info("server")["process_id"]
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not fleet.broker.server.answers())
    # each is answered before the next one, with no process that restarts the broker
    client = Client(fleet.port, token, world, 5)
    client.start()
    client.join()
    assert client.statuses == [200] * 5
    assert not settled()

    fleet.broker.revive()
    wait_for(settled)
    assert_all_running(6, hypervisor)


def test_the_watchdog_boots_a_machine_that_powers_itself_off(fleet, world, hypervisor):
    instance = world.create()
    asleep = world.create(image=None, root_pass=None)
    fleet.worker()
    fleet.beat()
    wait_for(settled)

    hypervisor.power_off(machine_name(instance.pk))

    wait_for(lambda: Event.objects.filter(action="lassie_reboot", status="finished").exists())
    instance.refresh_from_db()
    asleep.refresh_from_db()
    assert (instance.status, asleep.status) == ("running", "offline")


def test_a_stopping_worker_gives_its_job_back(fleet, world, hypervisor):
    """The worker is at a job's first step, and has received a notification of another.

    No other process notifies again: no lease expires, and no clock runs.
    """
    ages = {"JOB_SOFT_LIMIT": "50000", "JOB_HARD_LIMIT": "60000", "JOB_LEASE": "100000"}
    fleet.env |= ages | {"JOB_DRIVER_TIMEOUT": "600", "TRANSACTION_IDLE_LIMIT": "600"}
    jobs = [world.create().jobs.get().pk for _ in range(4)]
    hypervisor.forget_all()  # creates the tables that are locked next

    with psycopg.connect(fleet.env["DATABASE_URL"]) as session:
        session.execute("LOCK TABLE simulated.machine IN ACCESS EXCLUSIVE MODE")
        leaves = fleet.worker(concurrency=1)
        code = f"from compute.jobs.notify import notify\nfor job in {jobs}: notify(job)"
        subprocess.run([sys.executable, "manage.py", "shell", "-c", code], cwd=ROOT, env=fleet.env, check=True)
        wait_for(lambda: Job.objects.exclude(lease_until=None).exists())
        leaves.send_signal(signal.SIGTERM)
        wait_for(lambda: "Warm shutdown" in (fleet.state / "fleet.log").read_text())
    assert leaves.wait(TIMEOUT_SECONDS) == 0
    log = (fleet.state / "fleet.log").read_text()
    assert "WARNING" not in log
    assert not [words for words in ("unacknowledged", "undeliverable", "Requeuing") if words in log]
    assert not settled()
    assert not Job.objects.exclude(lease_until=None).exists()

    fleet.worker()
    wait_for(settled)
    assert_all_running(4, hypervisor)
