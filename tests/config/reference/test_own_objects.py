"""Forms offer the reader's own objects, from the lists of the API."""

import json

import pytest
from django.utils import timezone

from compute.models import Instance
from config.reference.own_objects import NEEDS_YOURS, Form, Reader, form_of
from config.reference.reading import reference
from tests.factories import (
    AccountFactory,
    DiskFactory,
    GrantFactory,
    InstanceFactory,
    UserFactory,
    VolumeFactory,
)

pytestmark = pytest.mark.django_db


def form(operation: str, user) -> Form:
    return form_of(reference().operations[operation], Reader.of(user))


def path_values(shown: Form) -> list[str]:
    return [each.value for each in shown.operation.parameters if each.place == "path"]


def test_a_read_starts_with_the_first_objects(owner, account):
    first, _ = InstanceFactory.create_batch(2, account=account)
    disk = DiskFactory(instance=first)
    assert path_values(form("compute_instances_disks_retrieve", owner)) == [str(first.pk), str(disk.pk)]


def test_a_create_starts_with_the_first_object_too(owner, account):
    first, _ = InstanceFactory.create_batch(2, account=account)
    assert path_values(form("compute_instances_disks_create", owner)) == [str(first.pk)]


def test_a_create_that_would_replace_an_object_starts_with_none(owner, account):
    instance = InstanceFactory(account=account)
    assert path_values(form("compute_instances_backups_create", owner)) == [str(instance.pk)]
    Instance.objects.update(backups_last_successful=timezone.now())
    assert path_values(form("compute_instances_backups_create", owner)) == [""]


def test_a_change_shows_the_id_as_a_placeholder_only(owner, account):
    volume = VolumeFactory(account=account)
    shown = form("volumes_destroy", owner)
    assert path_values(shown) == [""]
    assert shown.operation.parameters[0].example == str(volume.pk)


def test_a_body_names_the_first_instance_and_its_parts(owner, account):
    first, _ = InstanceFactory.create_batch(2, account=account)
    Instance.objects.filter(pk=first.pk).update(ipv4=["198.18.0.9"])
    disk = DiskFactory(instance=first)
    [body] = form("images_create", owner).operation.bodies
    assert json.loads(body.start) == {"disk_id": disk.pk}
    [body] = form("networking_ips_assign", owner).operation.bodies
    assert json.loads(body.start) == {
        "region": first.region_id,
        "assignments": [{"address": "198.18.0.9", "compute_id": first.pk}],
    }


@pytest.mark.parametrize(
    ("operation", "create"),
    [
        ("volumes_destroy", "volumes_create"),
        ("volumes_attach", "compute_instances_create"),
        ("compute_instances_disks_retrieve", "compute_instances_create"),
    ],
)
def test_without_an_object_the_form_leads_to_its_create(owner, account, operation, create):
    if operation == "volumes_attach":
        VolumeFactory(account=account)
    shown = form(operation, owner)
    assert shown.create is not None
    assert shown.create.id == create
    assert path_values(shown) in ([""], ["", ""])


def test_an_instance_without_disks_leads_to_the_create_of_a_disk(owner, account):
    InstanceFactory(account=account)
    assert form("images_create", owner).create.id == "compute_instances_disks_create"


def test_objects_of_others_are_not_shown(owner):
    InstanceFactory(account=AccountFactory())
    assert path_values(form("compute_instances_retrieve", owner)) == [""]


def test_a_restricted_user_sees_only_granted_ids(account):
    user = UserFactory(account=account, restricted=True)
    _, granted = InstanceFactory.create_batch(2, account=account)
    GrantFactory(user=user, entity_type="compute", entity_id=granted.pk)
    assert path_values(form("compute_instances_retrieve", user)) == [str(granted.pk)]
    assert path_values(form("account_users_retrieve", user)) == [""]
    assert form("account_users_retrieve", user).create is None


def test_strangers_and_staff_see_the_example(staff):
    for user in (staff, None):
        reader = Reader.of(user) if user else None
        operation = reference().operations["images_create"]
        assert form_of(operation, reader) == Form(operation)


def test_a_value_that_only_the_reader_knows_is_named(owner):
    for operation, note in NEEDS_YOURS.items():
        assert form(operation, owner).note == note
