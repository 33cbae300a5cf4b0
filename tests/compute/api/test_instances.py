"""The API of instances."""

import pytest
from django.db.models.functions import Now

from accounts.models import Event, GlobalGrants, Grant, SSHKey
from compute.machine_names import disk_name, machine_name
from compute.models import Address, Disk, FirewallDevice, Image, Instance, Job
from compute.serializers.instances import NO_METADATA
from compute.services.backups import backups
from compute.services.instances import instances
from compute.services.networking.firewalls import delivery
from config.errors import Invalid
from tests.client import errors
from tests.compute.run_jobs import work
from tests.factories import FirewallFactory, GrantFactory, ImageFactory, StackScriptFactory
from tests.world import STRONG

pytestmark = pytest.mark.django_db

INSTANCES = "/v4/compute/instances"
TAKEN = "Label must be unique among your computes"
KEY = (
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBG0y2l2y2l2y2l2y2l2y2l2y2l2y2l2y2l2y2l2y2l2 somebody@laptop"
)  # fmt: skip


@pytest.fixture
def body(world) -> dict:
    return {"region": "us-test", "type": "g6-test-2", "image": "compute/test11", "root_pass": STRONG}


# --- creating --------------------------------------------------------------------------------------------


def test_creating_from_an_image_shows_provisioning_with_every_default(api, body, world):
    response = api.post(INSTANCES, body)

    assert response.status_code == 200
    made = response.json()
    assert made["status"] == "provisioning"
    assert made["label"] == f"compute{made['id']}"
    assert made["image"] == "compute/test11"
    assert made["specs"] == {"disk": 25600, "memory": 2048, "vcpus": 2, "gpus": 0, "transfer": 1000}
    assert made["alerts"] == {"cpu": 180, "io": 10000, "network_in": 10, "network_out": 10, "transfer_quota": 80}
    assert made["backups"] == {
        "enabled": False,
        "available": False,
        "schedule": {"day": None, "window": None},
        "last_successful": None,
    }
    assert made["watchdog_enabled"] is True
    assert (made["group"], made["tags"], made["hypervisor"]) == ("", [], "kvm")
    assert made["host_uuid"] == str(world.host.uuid)
    assert len(made["ipv4"]) == 1
    assert made["ipv6"].startswith("2001:db8:77:0:f03c:")
    assert made["ipv6"].endswith("/128")
    assert api.get(f"{INSTANCES}/{made['id']}").json() == made


def test_an_image_deploy_fills_the_plan_with_two_disks_and_a_profile(api, body):
    made = api.post(INSTANCES, {**body, "swap_size": 1024}).json()

    disks = api.get(f"{INSTANCES}/{made['id']}/disks").json()["data"]
    assert [(disk["label"], disk["size"], disk["filesystem"]) for disk in disks] == [
        ("Test 11 Disk", 25600 - 1024, "ext4"),
        ("1024MB Swap Image", 1024, "swap"),
    ]
    (config,) = api.get(f"{INSTANCES}/{made['id']}/configs").json()["data"]
    assert config["label"] == "My Test 11 Disk Profile"
    assert config["kernel"] == "compute/grub2"
    assert config["root_device"] == "/dev/sda"
    assert config["devices"]["sda"] == {"disk_id": disks[0]["id"], "volume_id": None}
    assert config["devices"]["sdb"] == {"disk_id": disks[1]["id"], "volume_id": None}
    assert [config["devices"][slot] for slot in ("sdc", "sdd", "sde", "sdf", "sdg", "sdh")] == [None] * 6
    assert all(config["helpers"].values())
    assert api.get(f"{INSTANCES}/{made['id']}/configs/{config['id']}").json() == config
    assert api.get(f"{INSTANCES}/{made['id']}/disks/{disks[0]['id']}").json() == disks[0]


def test_an_empty_instance_has_neither_disks_nor_profiles(api, world):
    made = api.post(INSTANCES, {"region": "us-test", "type": "g6-test-2"}).json()

    assert made["image"] is None
    assert api.get(f"{INSTANCES}/{made['id']}/disks").json() == {"data": [], "page": 1, "pages": 1, "results": 0}
    assert api.get(f"{INSTANCES}/{made['id']}/configs").json()["results"] == 0


def test_every_failing_field_is_named_at_once_and_nothing_is_made(api, world):
    response = api.post(
        INSTANCES,
        {
            "region": "nowhere",
            "type": "nothing",
            "image": "compute/none",
            "root_pass": "password",
            "authorized_keys": ["not a key"],
            "authorized_users": ["nobody"],
            "interfaces": [{"purpose": "public", "label": "x"}, {"purpose": "public"}],
            "tags": ["ab"],
        },
    )

    assert response.status_code == 400
    assert set(errors(response)) == {
        "region",
        "type",
        "image",
        "root_pass",
        "authorized_keys[0]",
        "authorized_users[0]",
        "interfaces[0].label",
        "interfaces",
        "tags[0]",
    }
    assert errors(response)["root_pass"] == "Password does not meet strength requirement"
    assert not Instance.objects.exists()
    assert not Job.objects.exists()
    assert not Event.objects.filter(entity_type="compute").exists()
    assert not Address.objects.filter(instance__isnull=False).exists()


@pytest.mark.parametrize("missing", ["region", "type"])
def test_region_and_type_are_required(api, body, missing):
    response = api.post(INSTANCES, {name: value for name, value in body.items() if name != missing})

    assert errors(response) == {missing: f"{missing} is required"}


def test_an_image_needs_a_root_password(api, body):
    del body["root_pass"]

    assert errors(api.post(INSTANCES, body)) == {"root_pass": "root_pass is required"}


@pytest.mark.parametrize(
    "label", ["ab", "a" * 65, "-web", "web-", "web--1", "web__1", "web..1", "web 1", "wéb-1", 7, "", "a\x00b"]
)
def test_bad_labels_are_refused(api, body, label):
    response = api.post(INSTANCES, {**body, "label": label})

    assert response.status_code == 400
    assert set(errors(response)) == {"label"}


@pytest.mark.parametrize("label", ["abc", "a" * 64, "web-1", "1.2_3-4", "W0W"])
def test_good_labels_are_taken(api, body, label):
    assert api.post(INSTANCES, {**body, "label": label}).json()["label"] == label


def test_a_label_is_unique_on_the_account(api, body):
    api.post(INSTANCES, {**body, "label": "only-one"})

    response = api.post(INSTANCES, {**body, "label": "only-one"})

    assert response.status_code == 400
    assert errors(response) == {"label": "Label must be unique among your computes"}
    assert Instance.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("booted", "yes"),
        ("swap_size", -1),
        ("swap_size", "512"),
        ("swap_size", 10**30),
        ("private_ip", 1),
        ("authorized_keys", "ssh-rsa"),
        ("authorized_users", [1]),
        ("interfaces", [{"purpose": "moon"}]),
        ("root_pass", "short"),
        ("root_pass", "x" * 129),
        ("group", 5),
        ("region", ["us-test"]),
        ("type", {}),
    ],
)
def test_wrong_types_and_bounds_are_refused_by_name(api, body, field, value):
    response = api.post(INSTANCES, {**body, field: value})

    assert response.status_code == 400
    assert all(name.startswith(field) for name in errors(response))
    assert not Instance.objects.exists()


def test_null_lists_and_unknown_fields_count_as_not_given(api, body):
    response = api.post(INSTANCES, {**body, "tags": None, "interfaces": None, "wibble": 1, "status": "running"})

    assert response.status_code == 200
    assert response.json()["status"] == "provisioning"


def test_keys_of_named_users_are_appended(api, body, owner, driver):
    SSHKey.objects.create(user=owner, label="laptop", ssh_key=KEY)

    made = api.post(INSTANCES, {**body, "authorized_users": [owner.username]}).json()

    work(Job.objects.get(instance_id=made["id"]), driver)
    disks = driver.machines[f"skerry-{made['id']}"]["disks"].values()
    assert [disk.authorized_keys for disk in disks if disk.image] == [(KEY,)]


@pytest.mark.parametrize("given", [{"backups_enabled": False}, {"backups_enabled": None}, {}], ids=str)
def test_the_accounts_backups_enabled_wins(api, body, account, given):
    account.backups_enabled = True
    account.save()
    assert api.post(INSTANCES, body | given).json()["backups"]["enabled"] is True


def test_a_private_address_comes_with_private_ip(api, body):
    made = api.post(INSTANCES, {**body, "private_ip": True}).json()

    ips = api.get(f"{INSTANCES}/{made['id']}/ips").json()
    assert [ip["address"] for ip in ips["ipv4"]["public"] + ips["ipv4"]["private"]] == made["ipv4"]
    assert ips["ipv4"]["private"][0]["public"] is False
    assert ips["ipv4"]["public"][0]["rdns"].endswith(".ip.skerry.example")
    assert ips["ipv6"]["slaac"]["address"] == made["ipv6"].removesuffix("/128")
    assert ips["ipv6"]["link_local"]["address"].startswith("fe80::f03c:")


def test_no_secret_is_kept_readable(api, body):
    from django.db import connection

    api.post(INSTANCES, {**body, "authorized_keys": [KEY]})

    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            for (row,) in cursor.fetchall():
                assert STRONG not in row, table
                assert KEY not in row, table


@pytest.fixture
def script(owner, world):
    text = '#!/bin/sh\n# <UDF name="motd" label="Message" />\necho "$MOTD" > /etc/motd\n'
    fields = [{"name": "motd", "label": "Message"}]
    return StackScriptFactory(
        account=owner.account, images=[world.image.pk], script=text, user_defined_fields=fields
    )


def test_a_script_runs_at_the_first_boot_with_its_values(api, body, script, driver):
    deploy = {**body, "stackscript_id": script.pk, "stackscript_data": {"motd": "it's low tide"}}
    made = api.post(INSTANCES, deploy).json()
    job = Job.objects.get(instance=made["id"])
    assert "low tide" not in str(job.data)

    work(job, driver)

    first, _ = Disk.objects.filter(instance=made["id"]).order_by("pk")
    assert first.stackscript == script
    given = driver.machines[machine_name(made["id"])]["disks"][disk_name(made["id"], first.pk)]
    assert "export MOTD='it'\"'\"'s low tide'" in given.script
    assert "low tide" not in repr(given)
    script.refresh_from_db()
    assert script.deployments_total == 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"stackscript_data": {}}, "stackscript_data.motd"),
        ({"stackscript_id": 10**12}, "stackscript_id"),
        ({"image": None, "root_pass": None}, "image"),
    ],
)
def test_a_script_that_cannot_be_deployed_makes_nothing(api, body, script, change, field):
    deploy = {**body, "stackscript_id": script.pk, "stackscript_data": {"motd": "x"}, **change}
    deploy = {name: value for name, value in deploy.items() if value is not None}
    assert field in errors(api.post(INSTANCES, deploy))
    script.refresh_from_db()
    assert (script.deployments_total, Instance.objects.count()) == (0, 0)


def test_a_private_image_is_deployed_by_those_with_a_grant_on_it(api, body, client_for, restricted, world):
    image = ImageFactory(id="private/9", number=9, account=world.account, is_public=False)
    deploy = {**body, "image": image.pk}
    GlobalGrants.objects.update_or_create(user=restricted, defaults={"add_computes": True})
    assert errors(client_for(restricted).post(INSTANCES, deploy)) == {"image": "image is not valid"}
    GrantFactory(user=restricted, entity_type="image", entity_id=9, permissions="read_only")
    assert client_for(restricted).post(INSTANCES, deploy).status_code == 200
    assert api.post(INSTANCES, deploy).json()["image"] == "private/9"
    Image.objects.filter(pk=image.pk).update(status="deleting")
    assert errors(api.post(INSTANCES, deploy)) == {"image": "image is not valid"}


# --- fields of later revisions -----------------------------------------------------------------------------


def test_a_firewall_is_on_the_new_instance_from_its_first_boot_on(api, body, world, driver):
    rules = {"inbound": [], "inbound_policy": "DROP", "outbound": [], "outbound_policy": "ACCEPT"}
    firewall = FirewallFactory(account=world.account, rules=rules)

    made = api.post(INSTANCES, {**body, "firewall_id": firewall.pk}).json()

    shown = api.get(f"{INSTANCES}/{made['id']}/firewalls").json()["data"]
    assert [row["id"] for row in shown] == [firewall.pk]
    event = Event.objects.get(action="firewall_device_add")
    assert (event.entity_id, event.secondary_id) == (firewall.pk, str(made["id"]))
    instance = Instance.objects.get(pk=made["id"])
    work(instance.jobs.get(), driver)
    assert driver.machines[machine_name(instance.pk)]["boot"].firewall.rules.inbound_policy == "drop"


def test_a_disabled_firewall_is_on_the_new_instance_and_filters_nothing(api, body, world):
    firewall = FirewallFactory(account=world.account, status="disabled")
    made = api.post(INSTANCES, {**body, "firewall_id": firewall.pk}).json()
    device = FirewallDevice.objects.get()
    assert (device.instance_id, device.enabled) == (made["id"], False)
    assert delivery.read(made["id"]).rules is None


def test_a_firewall_is_one_of_the_account(api, body, stranger):
    foreign = FirewallFactory(account=stranger.account)
    for wrong in (foreign.pk, 999_999):
        answer = api.post(INSTANCES, {**body, "firewall_id": wrong, "region": "mars"})
        assert errors(answer) == {"region": "region is not valid", "firewall_id": "firewall_id is not valid"}
    assert not Instance.objects.exists()


def test_a_restricted_user_needs_to_change_the_firewall(client_for, restricted, body, world):
    GlobalGrants.objects.filter(user=restricted).update(add_computes=True)
    firewall = FirewallFactory(account=world.account)
    api, asked = client_for(restricted), {**body, "firewall_id": firewall.pk}
    assert errors(api.post(INSTANCES, asked)) == {"firewall_id": "firewall_id is not valid"}
    grant = GrantFactory(user=restricted, entity_type="firewall", entity_id=firewall.pk, permissions="read_only")
    assert errors(api.post(INSTANCES, asked), 403) == {"firewall_id": "Unauthorized"}
    assert not Instance.objects.exists()
    Grant.objects.filter(pk=grant.pk).update(permissions="read_write")
    assert api.post(INSTANCES, asked).status_code == 200
    assert FirewallDevice.objects.count() == 1


def test_an_instance_whose_firewall_cannot_be_attached_is_not_made(api, body, world, monkeypatch):
    firewall = FirewallFactory(account=world.account)

    def fails(*arguments):
        raise Invalid("No.", "firewall_id")

    monkeypatch.setattr(instances, "put_on_new", fails)
    assert errors(api.post(INSTANCES, {**body, "firewall_id": firewall.pk})) == {"firewall_id": "No."}
    assert not Instance.objects.exists()


def test_user_data_is_refused_on_its_field(api, body, world):
    asked = {**body, "metadata": {"user_data": "I2Nsb3VkLWNvbmZpZw=="}}
    refused = {"metadata.user_data": NO_METADATA}
    assert errors(api.post(INSTANCES, asked)) == refused
    assert errors(api.post(INSTANCES, {**asked, "region": "mars"})) == {**refused, "region": "region is not valid"}
    assert not Instance.objects.exists()
    there = world.offline()
    rebuild = {"image": body["image"], "root_pass": STRONG, "metadata": asked["metadata"]}
    assert errors(api.post(f"{INSTANCES}/{there.pk}/rebuild", rebuild)) == refused


@pytest.mark.parametrize("metadata", [None, {}, {"user_data": None}, {"user_data": ""}, {"other": 1}])
def test_metadata_that_asks_for_nothing_is_taken(api, body, metadata):
    assert api.post(INSTANCES, {**body, "metadata": metadata, "a_field_of_later": 1}).status_code == 200


def test_creating_has_a_limit_of_its_own(api, body):
    assert api.post(INSTANCES, body)["X-RateLimit-Limit"] is not None


# --- who may -----------------------------------------------------------------------------------------------


def test_creating_needs_the_grant(client_for, restricted, body):
    api = client_for(restricted)
    assert api.post(INSTANCES, body).status_code == 403

    GlobalGrants.objects.filter(user=restricted).update(add_computes=True)
    made = api.post(INSTANCES, body)

    assert made.status_code == 200
    assert Grant.objects.get(user=restricted).permissions == "read_write"
    assert api.put(f"{INSTANCES}/{made.json()['id']}", {"group": "mine"}).status_code == 200


def test_instances_without_a_grant_do_not_exist(client_for, restricted, running):
    api = client_for(restricted)

    assert api.get(INSTANCES).json()["results"] == 0
    for path in ("", "/disks", "/configs", "/ips"):
        assert api.get(f"{INSTANCES}/{running.pk}{path}").status_code == 404
    assert api.post(f"{INSTANCES}/{running.pk}/reboot").status_code == 404


def test_read_only_reads_and_does_not_write(client_for, restricted, running):
    Grant.objects.create(user=restricted, entity_type="compute", entity_id=running.pk, permissions="read_only")
    api = client_for(restricted)

    assert api.get(INSTANCES).json()["results"] == 1
    assert api.get(f"{INSTANCES}/{running.pk}/ips").status_code == 200
    for request in (
        api.put(f"{INSTANCES}/{running.pk}", {"group": "x"}),
        api.delete(f"{INSTANCES}/{running.pk}"),
        api.post(f"{INSTANCES}/{running.pk}/reboot"),
        api.post(f"{INSTANCES}/{running.pk}/shutdown"),
        api.post(f"{INSTANCES}/{running.pk}/boot"),
    ):
        assert errors(request, 403) == {None: "Unauthorized"}
    running.refresh_from_db()
    assert running.status == "running"


def test_a_restricted_user_cannot_tag(client_for, restricted, running):
    Grant.objects.create(user=restricted, entity_type="compute", entity_id=running.pk, permissions="read_write")
    api = client_for(restricted)

    assert api.put(f"{INSTANCES}/{running.pk}", {"tags": ["mine"]}).status_code == 403
    assert api.put(f"{INSTANCES}/{running.pk}", {"tags": []}).status_code == 200, "nothing changes"


def test_another_accounts_instance_does_not_exist(client_for, stranger, running):
    api = client_for(stranger)

    assert api.get(INSTANCES).json()["results"] == 0
    assert api.get(f"{INSTANCES}/{running.pk}").status_code == 404
    assert api.delete(f"{INSTANCES}/{running.pk}").status_code == 404


def test_a_token_without_the_scope_is_refused(client_for, owner, running):
    reader = client_for(owner, "computes:read_only")

    assert reader.get(f"{INSTANCES}/{running.pk}").status_code == 200
    refused = reader.post(f"{INSTANCES}/{running.pk}/reboot")
    assert errors(refused, 401) == {None: "Your OAuth token is not authorized to use this endpoint."}


# --- changing and power --------------------------------------------------------------------------------------


def test_a_put_of_the_answer_changes_nothing(api, running):
    got = api.get(f"{INSTANCES}/{running.pk}").json()
    events = Event.objects.count()

    assert api.put(f"{INSTANCES}/{running.pk}", got).json() == got
    assert Event.objects.count() == events


def test_a_put_changes_the_given_fields_and_has_an_event(api, running):
    response = api.put(
        f"{INSTANCES}/{running.pk}",
        {
            "label": "renamed",
            "group": "web",
            "tags": ["blue", "green"],
            "watchdog_enabled": False,
            "alerts": {"cpu": 0},
            "backups": {"schedule": {"day": "Monday", "window": "W10"}},
        },
    )

    changed = response.json()
    assert (changed["label"], changed["group"], changed["tags"]) == ("renamed", "web", ["blue", "green"])
    assert changed["alerts"]["cpu"] == 0
    assert changed["alerts"]["io"] == 10000
    assert changed["backups"]["schedule"] == {"day": "Monday", "window": "W10"}
    assert changed["watchdog_enabled"] is False
    assert Event.objects.filter(action="compute_update", status="notification").count() == 1
    assert api.get(f"{INSTANCES}/{running.pk}").json() == changed


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"alerts": {"cpu": -1}}, "alerts.cpu"),
        ({"alerts": {"cpu": 2**31}}, "alerts.cpu"),
        ({"backups": {"schedule": {"day": "Someday"}}}, "backups.schedule.day"),
        ({"label": "x"}, "label"),
        ({"watchdog_enabled": 0}, "watchdog_enabled"),
        ({"alerts": []}, "alerts"),
    ],
)
def test_a_bad_change_names_the_nested_field_and_changes_nothing(api, running, change, field):
    response = api.put(f"{INSTANCES}/{running.pk}", {"group": "not-written", **change})

    assert response.status_code == 400
    assert set(errors(response)) == {field}
    running.refresh_from_db()
    assert running.group == ""


def test_tags_and_addresses_can_be_filtered(api, running, world):
    world.create(label="other", tags=("blue",))

    assert [i["label"] for i in api.get(INSTANCES, x_filter={"tags": "blue"}).json()["data"]] == ["other"]
    assert [i["label"] for i in api.get(INSTANCES, x_filter={"ipv4": running.ipv4[0]}).json()["data"]] == ["runner"]
    assert [i["label"] for i in api.get(f"{INSTANCES}?label=other").json()["data"]] == ["other"]
    refused = api.get(INSTANCES, x_filter={"status": "running"})
    assert errors(refused) == {"X-Filter": "Cannot filter on status"}


def test_power_goes_round(api, running, driver):
    path = f"{INSTANCES}/{running.pk}"
    for action, during, after in (
        ("reboot", "rebooting", "running"),
        ("shutdown", "shutting_down", "offline"),
        ("boot", "booting", "running"),
    ):
        assert api.post(f"{path}/{action}").json() == {}
        assert api.get(path).json()["status"] == during
        busy = api.post(f"{path}/reboot")
        assert errors(busy) == {None: "Compute busy."}
        work(running.jobs.get(finished_at=None), driver)
        assert api.get(path).json()["status"] == after


def last_event(instance):
    return Event.objects.filter(entity_type="compute", entity_id=instance.pk).latest("pk")


@pytest.mark.parametrize("status", ["offline", "stopped"])
def test_a_reboot_boots_an_instance_that_is_off(api, running, driver, status):
    driver.stop(machine_name(running.pk))
    Instance.objects.filter(pk=running.pk).update(status=status)

    assert api.post(f"{INSTANCES}/{running.pk}/reboot").json() == {}

    assert api.get(f"{INSTANCES}/{running.pk}").json()["status"] == "rebooting"
    work(running.jobs.get(finished_at=None), driver)
    assert api.get(f"{INSTANCES}/{running.pk}").json()["status"] == "running"
    event = last_event(running)
    assert (event.action, event.status) == ("compute_reboot", "finished")


@pytest.mark.parametrize("status", ["offline", "stopped"])
def test_an_instance_that_was_off_is_as_before_after_a_reboot_that_failed(api, running, driver, status):
    driver.stop(machine_name(running.pk))
    Instance.objects.filter(pk=running.pk).update(status=status)
    api.post(f"{INSTANCES}/{running.pk}/reboot")
    job = running.jobs.get(finished_at=None)
    Job.objects.filter(pk=job.pk).update(deadline_at=Now())

    work(job, driver)

    assert api.get(f"{INSTANCES}/{running.pk}").json()["status"] == status
    assert last_event(running).status == "failed"


@pytest.mark.parametrize("status", ["offline", "stopped"])
def test_a_shutdown_of_an_instance_that_is_off_leaves_it_off_and_has_a_finished_event(api, running, status):
    Instance.objects.filter(pk=running.pk).update(status=status)

    assert api.post(f"{INSTANCES}/{running.pk}/shutdown").json() == {}

    assert api.get(f"{INSTANCES}/{running.pk}").json()["status"] == "offline"
    [event] = events_of(api, running, "compute_shutdown")
    assert (event["status"], event["percent_complete"], event["username"]) == ("finished", 100, "worldowner")
    assert (event["duration"], event["time_remaining"]) == (0, 0)
    assert not running.jobs.filter(finished_at=None).exists()


def test_a_boot_of_a_running_instance_leaves_it_running(api, running):
    for number, config_id in enumerate((None, running.booted_config_id, 999_999), 1):
        assert api.post(f"{INSTANCES}/{running.pk}/boot", {"config_id": config_id}).json() == {}

        assert api.get(f"{INSTANCES}/{running.pk}").json()["status"] == "running"
        event, *_ = events = events_of(api, running, "compute_boot")
        # one more than for the first boot
        assert len(events) == number + 1
        assert (event["status"], event["percent_complete"]) == ("finished", 100)
        assert event["secondary_entity"]["id"] == running.booted_config_id
    assert not running.jobs.filter(finished_at=None).exists()


def test_a_config_that_is_no_id_is_refused_on_a_running_instance_too(api, running):
    assert list(errors(api.post(f"{INSTANCES}/{running.pk}/boot", {"config_id": "x"}))) == ["config_id"]
    assert len(events_of(api, running, "compute_boot")) == 1


@pytest.mark.parametrize(("action", "status"), [("boot", "running"), ("shutdown", "offline")])
def test_an_action_without_effect_is_busy_while_a_job_is_live(api, world, running, action, status):
    backups.enable(world.actor, running)
    backups.snapshot(world.actor, running, "before")
    Instance.objects.filter(pk=running.pk).update(status=status)
    before = Event.objects.count()

    assert errors(api.post(f"{INSTANCES}/{running.pk}/{action}")) == {None: "Compute busy."}
    assert Event.objects.count() == before


def events_of(api, instance, action):
    """Return the events of the action, the newest first."""
    found = {"entity.id": instance.pk, "entity.type": "compute", "action": action}
    return api.get("/v4/account/events", x_filter=found).json()["data"]


def test_an_unknown_config_is_refused_by_name(api, running):
    assert errors(api.post(f"{INSTANCES}/{running.pk}/reboot", {"config_id": 999999})) == {
        "config_id": "config_id is not valid"
    }
    running.refresh_from_db()
    assert running.status == "running"


def test_booting_without_a_profile_says_so(api, world, driver):
    instance = world.create(image=None, root_pass=None)
    work(instance.jobs.get(), driver)

    assert "no configuration profile" in errors(api.post(f"{INSTANCES}/{instance.pk}/boot"))[None]


def test_a_deleted_instance_is_gone_and_gives_its_address_back(api, running, driver):
    assert api.delete(f"{INSTANCES}/{running.pk}").json() == {}
    assert api.get(f"{INSTANCES}/{running.pk}").json()["status"] == "deleting"

    work(running.jobs.get(finished_at=None), driver)

    assert api.get(f"{INSTANCES}/{running.pk}").status_code == 404
    assert not Address.objects.filter(instance__isnull=False).exists()
    assert Event.objects.get(action="compute_delete").entity_label == "runner"


def test_a_label_is_free_while_its_instance_is_being_deleted(api, body, running, driver):
    api.delete(f"{INSTANCES}/{running.pk}")
    again = api.post(INSTANCES, body | {"label": "runner"})
    assert again.status_code == 200, again.json()
    assert errors(api.post(INSTANCES, body | {"label": "runner"}))["label"] == TAKEN
    assert api.get(f"{INSTANCES}/{running.pk}").json()["status"] == "deleting", "both are there"

    work(running.jobs.get(finished_at=None), driver)

    assert [row["id"] for row in api.get(INSTANCES, {"label": "runner"}).json()["data"]] == [again.json()["id"]]
