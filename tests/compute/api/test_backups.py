"""Backups as a client reads them."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from accounts.models import User
from compute.models import Backup, Instance
from tests.factories import GrantFactory, InstanceFactory, StaffFactory, UserFactory

pytestmark = pytest.mark.django_db

INSTANCES = "/v4/compute/instances"


@pytest.fixture
def owner() -> User:
    return UserFactory()


@pytest.fixture
def api(client_for, owner):
    return client_for(owner)


@pytest.fixture
def kept(owner) -> Instance:
    return InstanceFactory(account=owner.account)


def backup(instance: Instance, status: str = "successful", type: str = "snapshot", **fields) -> Backup:
    disk = {"label": "d", "size": 1000, "filesystem": "ext4", "image": None, "archive": "skerry-backup-7-0"}
    return Backup.objects.create(
        instance=instance, account=instance.account, region=instance.region, type=type, status=status,
        disks=[disk], configs=["My Profile"], **fields,
    )  # fmt: skip


def url(instance: Instance) -> str:
    return f"{INSTANCES}/{instance.pk}/backups"


def test_an_instance_without_backups_lists_none(api, kept):
    response = api.get(url(kept))

    assert response.status_code == 200
    assert response.json() == {"automatic": [], "snapshot": {"current": None, "in_progress": None}}


def test_the_listing_tells_automatic_current_and_in_progress_apart(api, kept):
    first, second = (backup(kept, type="automatic", rotation=r) for r in ("weekly", "daily"))
    current = backup(kept, label="before", finished=now())
    under_way = backup(kept, "running", label="again")
    backup(kept, "failed", label="lost")
    backup(kept, "failed", "automatic")
    backup(InstanceFactory(account=kept.account), type="automatic")

    found = api.get(url(kept)).json()

    assert [row["id"] for row in found["automatic"]] == [first.pk, second.pk]
    assert found["snapshot"]["current"]["id"] == current.pk
    assert found["snapshot"]["in_progress"]["id"] == under_way.pk
    assert not found["snapshot"]["in_progress"]["available"]


def test_a_backup_shows_what_it_holds_but_not_where(api, kept):
    row = backup(kept, label="before", finished=now())

    found = api.get(f"{url(kept)}/{row.pk}").json()

    assert {name: found[name] for name in found if name not in ("created", "updated", "finished")} == {
        "id": row.pk,
        "type": "snapshot",
        "status": "successful",
        "available": True,
        "label": "before",
        "region": kept.region_id,
        "configs": ["My Profile"],
        "disks": [{"label": "d", "size": 1000, "filesystem": "ext4"}],
    }
    assert found["finished"]


def test_a_backup_that_failed_is_found_by_its_id(api, kept):
    found = api.get(f"{url(kept)}/{backup(kept, 'failed').pk}").json()

    assert (found["status"], found["available"]) == ("failed", False)


def test_a_backup_is_found_under_its_own_instance_only(api, kept):
    other = InstanceFactory(account=kept.account)

    assert api.get(f"{url(other)}/{backup(kept).pk}").status_code == 404


def test_whoever_may_read_the_instance_may_read_its_backups(client_for, kept):
    row = backup(kept)
    restricted = UserFactory(account=kept.account, restricted=True)
    for path in (url(kept), f"{url(kept)}/{row.pk}"):
        assert client_for(UserFactory()).get(path).status_code == 404
        assert client_for(restricted).get(path).status_code == 404

    GrantFactory(user=restricted, entity_id=kept.pk, permissions="read_only")

    for path in (url(kept), f"{url(kept)}/{row.pk}"):
        assert client_for(restricted).get(path).status_code == 200


def test_the_listing_asks_as_often_for_many_as_for_one(api, kept):
    backup(kept, type="automatic")
    api.get(url(kept))
    with CaptureQueriesContext(connection) as one:
        api.get(url(kept))
    for _ in range(5):
        backup(kept, type="automatic")
    with CaptureQueriesContext(connection) as many:
        api.get(url(kept))
    assert len(many) == len(one)


def test_staff_read_backups_and_change_none(client, kept):
    row = backup(kept, "failed", message="The host does not answer.")
    client.force_login(StaffFactory(is_superuser=True))

    assert client.get("/admin/compute/backup/").status_code == 200
    page = client.get(f"/admin/compute/backup/{row.pk}/change/")
    assert "The host does not answer." in page.content.decode()
    assert client.get("/admin/compute/backup/add/").status_code == 403
