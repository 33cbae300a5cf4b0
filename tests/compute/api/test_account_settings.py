"""The account's settings for new instances and profiles."""

import pytest

from accounts.models import Account
from compute.models import Config, Instance, InstanceType
from tests.world import STRONG


@pytest.fixture
def settle(world):
    """Return a function that changes settings of the account."""
    return lambda **changes: Account.objects.filter(pk=world.account.pk).update(**changes)


@pytest.fixture
def create(world, api):
    def made(**fields) -> Instance:
        body = {
            "region": world.region.pk,
            "type": world.type.pk,
            "image": world.image.pk,
            "root_pass": STRONG,
            **fields,
        }
        answer = api.post("/v4/compute/instances", body)
        assert answer.status_code == 200, answer.content
        return Instance.objects.get(pk=answer.json()["id"])

    return made


class TestBackups:
    @pytest.fixture(autouse=True)
    def _offered(self, world):
        InstanceType.objects.filter(pk=world.type.pk).update(backup_price_hourly=0.003, backup_price_monthly=2)

    @pytest.mark.parametrize(
        ("setting", "asked", "has"),
        [(False, {}, False), (True, {}, True), (True, {"backups_enabled": False}, True),
         (False, {"backups_enabled": True}, True)],
    )  # fmt: skip
    def test_a_new_instance_has_them_where_it_asks_or_the_account_says_so(
        self, create, settle, setting, asked, has
    ):
        settle(backups_enabled=setting)
        assert create(**asked).backups_enabled is has

    def test_a_type_without_backups_ignores_the_setting_of_the_account(self, world, create, settle):
        InstanceType.objects.filter(pk=world.type.pk).update(backup_price_monthly=None)
        settle(backups_enabled=True)
        assert create().backups_enabled is False

    def test_a_clone_is_a_new_instance_too(self, world, api, create, settle):
        source = create()
        Instance.objects.filter(pk=source.pk).update(status=Instance.Status.OFFLINE)
        source.jobs.all().delete()
        settle(backups_enabled=True)
        clone = api.post(
            f"/v4/compute/instances/{source.pk}/clone", {"type": world.type.pk, "region": world.region.pk}
        )
        assert Instance.objects.get(pk=clone.json()["id"]).backups_enabled is True


class TestTheNetworkHelper:
    def test_is_on_in_new_profiles_unless_the_account_says_otherwise(self, create, settle):
        assert create().configs.get().helpers["network"] is True
        settle(network_helper=False)
        helpers = create().configs.get().helpers
        assert helpers.pop("network") is False
        assert set(helpers.values()) == {True}

    def test_holds_for_profiles_that_say_nothing_of_it(self, api, create, settle):
        instance = create()
        Instance.objects.filter(pk=instance.pk).update(status=Instance.Status.OFFLINE)
        instance.jobs.all().delete()
        settle(network_helper=False)
        path, device = (
            f"/v4/compute/instances/{instance.pk}/configs",
            {"sda": {"disk_id": instance.disks.first().pk}},
        )
        for helpers, expected in ((None, False), ({"distro": False}, False), ({"network": True}, True)):
            body = {"label": "x", "devices": device, **({"helpers": helpers} if helpers else {})}
            made = api.post(path, body).json()
            assert made["helpers"]["network"] is expected
            assert Config.objects.get(pk=made["id"]).helpers["network"] is expected
