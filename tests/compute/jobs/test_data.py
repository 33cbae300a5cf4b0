"""The stored data of jobs, in the present version and in those of earlier releases."""

import json
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from compute.jobs.data import (
    JSON,
    BackupData,
    BackupProvisionData,
    BackupsDeleteData,
    BootData,
    CloneData,
    DiskData,
    DiskDeleteData,
    DiskResizeData,
    ImageData,
    ImagizeData,
    ImportData,
    JobData,
    MoveData,
    ProvisionData,
    RebuildData,
    RescueData,
    RestoreData,
    UnreadableData,
    VolumeAttachData,
    VolumeCreateData,
    VolumeData,
    VolumeDeleteData,
    VolumeDetachData,
    VolumeResizeData,
)
from compute.jobs.definition import KINDS

CONTENT: dict[str, Any] = {"disks": [{"label": "boot", "archive": "backup-9-0"}], "profiles": []}
KEYS = {"disks": [31, 32], "configs": [41], "devices": [51, 52]}

MOVED = MoveData(
    running=True,
    config_id=4,
    off_status="offline",
    previous_host_id=1,
    host_id=2,
    previous_type_id="g6-small",
    type_id="g6-large",
)

# kind: the columns that version 0 wrote, and the same data as read
VERSION_0: dict[str, list[tuple[dict[str, Any], JobData]]] = {
    "provision": [
        ({"boot": True, "config": 4}, ProvisionData(boot=True, config_id=4)),
        ({"boot": False, "config": None}, ProvisionData(boot=False)),
        (
            {"boot": False, "config": None, "reason": "No such image."},
            ProvisionData(boot=False, undo_reason="No such image."),
        ),
    ],
    "provision_from_backup": [
        (
            {"boot": True, "config": 4, "backup": 9, "archives": {"31": "backup-9-0", "32": None}},
            BackupProvisionData(boot=True, config_id=4, backup_id=9, archives={31: "backup-9-0", 32: None}),
        )
    ],
    "boot": [({"config": 4}, BootData(config_id=4))],
    "reboot": [({"config": 4}, BootData(config_id=4))],
    "rescue": [
        (
            {"config": 4, "running": False, "off": "stopped"},
            RescueData(config_id=4, running=False, off_status="stopped"),
        )
    ],
    "shutdown": [({}, JobData())],
    "delete": [({}, JobData())],
    "host_stop": [({}, JobData())],
    "clone": [
        (
            {"copies": {"31": 21}, "configs": [41], "source_off": "offline"},
            CloneData(copies={31: 21}, config_ids=[41], source_off_status="offline"),
        )
    ],
    "clone_into": [
        (
            {"copies": {}, "configs": [], "source_off": "offline", "off": "stopped"},
            CloneData(copies={}, config_ids=[], source_off_status="offline", off_status="stopped"),
        )
    ],
    "migrate": [
        (
            {
                "running": True, "config": 4, "off": "offline", "from": 1, "host": 2,
                "was": "g6-small", "type": "g6-small", "migration": 8,
            },
            MoveData(
                running=True, config_id=4, off_status="offline", previous_host_id=1, host_id=2,
                previous_type_id="g6-small", type_id="g6-small", migration_id=8,
            ),
        )
    ],
    "migrate_region": [
        (
            {
                "running": False, "config": None, "off": "stopped", "from": 1, "host": 2,
                "was": "g6-small", "type": "g7-small", "region": "us-other", "ipv4": ["203.0.113.4"], "ipv6": None,
            },
            MoveData(
                running=False, off_status="stopped", previous_host_id=1, host_id=2,
                previous_type_id="g6-small", type_id="g7-small", region_id="us-other", ipv4=["203.0.113.4"],
            ),
        )
    ],
    "resize": [
        (
            {
                "running": True, "config": 4, "was": "g6-small", "type": "g6-large",
                "disk": {"id": 21, "was": 2000, "size": 5000}, "off": "offline", "from": 1, "host": 2,
            },
            MoveData(
                running=True, config_id=4, off_status="offline", previous_host_id=1, host_id=2,
                previous_type_id="g6-small", type_id="g6-large",
                disk_id=21, disk_size=5000, previous_disk_size=2000,
            ),
        )
    ],
    "mutate": [
        (
            {
                "running": True, "config": 4, "was": "g6-small", "type": "g6-large", "disk": None,
                "off": "offline", "from": 1, "host": 2,
            },
            MOVED,
        )
    ],
    "rebuild": [
        (
            {
                "running": True, "stopped": False, "boot": True, "booted": 4, "old": {"21": "ready"},
                "image": "compute/debian12", "image_was": "compute/debian11", "script": None,
                "keys": [41, 31, 51, 32, 52], "config": 41, "disks": [31, 32],
            },
            RebuildData(
                running=True, stopped=False, boot=True, previous_config_id=4, previous_disk_statuses={21: "ready"},
                image_id="compute/debian12", previous_image_id="compute/debian11",
                row_keys=[41, 31, 51, 32, 52], config_id=41, disk_ids=[31, 32],
            ),
        )
    ],
    "disk_create": [({"disk": 21}, DiskData(disk_id=21))],
    "disk_clone": [({"disk": 22, "copy_of": 21}, DiskData(disk_id=22, copy_of=21))],
    "disk_resize": [
        (
            {"disk": {"id": 21, "was": 2000, "size": 5000}},
            DiskResizeData(disk_id=21, disk_size=5000, previous_disk_size=2000),
        )
    ],
    "disk_delete": [({"disk": 21, "was": "not ready"}, DiskDeleteData(disk_id=21, previous_status="not ready"))],
    "password_reset": [({"disk": 21}, DiskData(disk_id=21))],
    "imagize": [({"image": 6, "disk": 21}, ImagizeData(image_number=6, disk_id=21))],
    "import_image": [({"image": 6, "size": 700}, ImportData(image_number=6, size=700))],
    "delete_image": [({"image": 6}, ImageData(image_number=6))],
    "snapshot": [({"backup": 9, "disks": [21, 22]}, BackupData(backup_id=9, disk_ids=[21, 22]))],
    "backup": [({"backup": 9, "disks": []}, BackupData(backup_id=9, disk_ids=[]))],
    "delete_backups": [
        (
            {"backups": [9, 10], "archives": ["backup-9-0"]},
            BackupsDeleteData(backup_ids=[9, 10], archives=["backup-9-0"]),
        )
    ],
    "restore": [
        (
            {
                "backup": 9, "content": CONTENT, "keys": KEYS, "archives": {"31": "backup-9-0", "32": None},
                "overwrite": True, "running": True, "booted": 4, "old": [21, 22], "old_configs": [4],
            },
            RestoreData(
                backup_id=9, content=CONTENT, part_keys=KEYS, archives={31: "backup-9-0", 32: None},
                overwrite=True, running=True, previous_config_id=4,
                previous_disk_ids=[21, 22], previous_config_ids=[4],
            ),
        ),
        (
            {
                "backup": 9, "content": CONTENT, "keys": KEYS, "archives": {"31": "backup-9-0"},
                "overwrite": False, "off": "stopped",
            },
            RestoreData(
                backup_id=9, content=CONTENT, part_keys=KEYS, archives={31: "backup-9-0"},
                overwrite=False, off_status="stopped",
            ),
        ),
    ],
    "volume_create": [({"volume": 7, "attach": True}, VolumeCreateData(volume_id=7, attach=True))],
    "volume_clone": [({"volume": 8, "copy_of": 7}, VolumeData(volume_id=8, copy_of=7))],
    "volume_resize": [({"volume": 7, "size": 30}, VolumeResizeData(volume_id=7, size=30))],
    "volume_attach": [({"volume": 7}, VolumeAttachData(volume_id=7))],
    "volume_detach": [({"volume": 7}, VolumeDetachData(volume_id=7))],
    "volume_delete": [({"volume": 7}, VolumeDeleteData(volume_id=7))],
}  # fmt: skip
READ = [(kind, stored, read) for kind, cases in VERSION_0.items() for stored, read in cases]


def test_no_kind_that_an_earlier_release_enqueued_is_gone():
    """Kinds that were added later have no version 0."""
    assert VERSION_0.keys() <= KINDS.keys()


@pytest.mark.parametrize(("kind", "stored", "read"), READ)
def test_data_of_an_earlier_release_is_read(kind, stored, read):
    found = KINDS[kind].read(stored)

    assert type(found) is KINDS[kind].data
    assert found == read


@pytest.mark.parametrize(("kind", "data"), [(kind, read) for kind, _, read in READ])
def test_written_data_is_read_again(kind, data):
    stored = json.loads(json.dumps(data.to_json()))

    assert stored["version"] == data.VERSION
    assert KINDS[kind].read(stored) == data
    assert KINDS[kind].plan(KINDS[kind].read(stored))


# data of version 1, for kinds that have another version now, and the same data as read
VERSION_1: dict[str, tuple[dict[str, Any], JobData]] = {
    "import_image": ({"image_number": 6, "size": 700}, ImportData(image_number=6, size=700)),
    "imagize": ({"image_number": 12, "disk": 31}, ImagizeData(image_number=12, disk_id=31)),
    "volume_create": ({"volume": 7, "attach": True}, VolumeCreateData(volume_id=7, attach=True)),
    "volume_attach": ({"volume": 7}, VolumeAttachData(volume_id=7)),
    "volume_detach": ({"volume": 7}, VolumeDetachData(volume_id=7, places=None)),
    "volume_delete": ({"volume": 7}, VolumeDeleteData(volume_id=7)),
}


def test_each_kind_with_another_version_has_a_record_of_the_first():
    assert VERSION_1.keys() == {name for name, kind in KINDS.items() if kind.data.VERSION != 1}


@pytest.mark.parametrize("kind", VERSION_1)
def test_data_of_version_1_is_read(kind):
    stored, read = VERSION_1[kind]
    assert KINDS[kind].read({"version": 1, **stored}) == read
    with pytest.raises(UnreadableData, match="cannot read version 4"):
        KINDS[kind].read({"version": 4, **stored})


def test_data_of_version_2_is_read():
    """Kinds that have a third version."""
    imagize = {"version": 2, "image_number": 12, "disk": 31, "instance": 5}
    assert KINDS["imagize"].read(imagize) == ImagizeData(image_number=12, disk_id=31, instance_id=5)
    detach = {"version": 2, "volume": 7, "places": [[4, "sdc"]]}
    assert KINDS["volume_detach"].read(detach) == VolumeDetachData(volume_id=7, places=[[4, "sdc"]])


def test_keys_that_queries_use_have_not_moved():
    """Services and the admin query these keys in the rows of both versions."""
    assert MOVED.to_json()["host"] == 2
    assert BootData(config_id=4).to_json() == {"version": 1, "config": 4}
    assert VolumeData(volume_id=8, copy_of=7).to_json() == {"version": 1, "volume": 8, "copy_of": 7}
    assert BackupData(backup_id=9, disk_ids=[]).to_json()["backup"] == 9


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        ({"version": 2, "config": 4}, "cannot read version 2"),
        ({"version": 1}, "missing 1 required keyword-only argument: 'config_id'"),
        ({"version": 1, "config": 4, "gravity": 1}, "unexpected keyword argument 'gravity'"),
        ({"config": 4, "gravity": 1}, "unexpected keyword argument 'gravity'"),
    ],
)
def test_data_that_no_earlier_release_wrote_is_not_guessed(stored, reason):
    with pytest.raises(UnreadableData, match=reason):
        BootData.from_json(stored)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterBootData(BootData):
    """Boot data as a later release might have it."""

    VERSION: ClassVar[int] = 2

    quiet: bool

    @classmethod
    def earlier(cls, version: int, values: JSON) -> JSON:
        if version != 1:
            raise UnreadableData(version)
        return {**values, "quiet": False}


@pytest.mark.parametrize("stored", [{"config": 4}, {"version": 1, "config": 4}])
def test_a_later_version_reads_all_before_it(stored):
    data = LaterBootData.from_json(stored)

    assert data == LaterBootData(config_id=4, quiet=False)
    assert LaterBootData.from_json(data.to_json()) == data
    with pytest.raises(UnreadableData):
        BootData.from_json(data.to_json())
