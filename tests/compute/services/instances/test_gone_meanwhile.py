"""Objects that are deleted or changed during a request. The request is refused or waits, and writes nothing by
half."""

import threading

import pytest
from django.db import connection, transaction

from accounts.models import Event
from compute.models import Image, Instance, IPv6Range, StackScript
from compute.services.images import images
from compute.services.instances import instances
from compute.services.instances.instances import InstanceChanges
from compute.services.networking import pools, ranges
from compute.services.stackscripts import stackscripts
from config.errors import Invalid, Missing
from tags.models import Tagging
from tests.factories import AddressPoolFactory, ImageFactory, StackScriptFactory
from tests.racing import RACERS, held_up, race, refused

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_change_of_an_instance_that_went_away_is_missing(world):
    instance = world.create()
    Instance.objects.filter(pk=instance.pk).delete()
    with pytest.raises(Missing):
        instances.update(world.actor, instance, InstanceChanges({"label": "another"}))


@pytest.mark.parametrize("gone", [True, False])
def test_a_change_of_an_image_that_went_away_or_is_about_to_is_missing(gone, world):
    image = ImageFactory(id="private/70", number=70, account=world.account, is_public=False)
    rows = Image.objects.filter(pk=image.pk)
    if gone:
        rows.delete()
    else:
        rows.update(status="deleting")
    with pytest.raises(Missing):
        images.update(world.actor, image, {"label": "another"})
    assert not Event.objects.filter(action="image_update").exists()


def test_racing_changes_of_tags_leave_those_that_are_shown(world):
    instance = world.create()

    def change(number: int) -> Instance:
        mine = Instance.objects.get(pk=instance.pk)
        return instances.update(world.actor, mine, InstanceChanges({}, (f"tag-{number}", "all")))

    assert not refused(race(change))

    instance.refresh_from_db()
    tagged = Tagging.objects.filter(entity_type="compute", entity_id=instance.pk)
    assert sorted(tagged.values_list("tag__label", flat=True)) == sorted(instance.tags)


def test_one_of_many_simultaneous_deletions_of_a_script_succeeds(world):
    script = StackScriptFactory(account=world.account)

    def delete(number: int) -> bool:
        stackscripts.delete(world.actor, script)
        return True

    assert len(refused(race(delete))) == RACERS - 1
    assert Event.objects.filter(action="stackscript_delete").count() == 1


def test_a_script_is_deployed_or_deleted_first(world):
    script = StackScriptFactory(account=world.account)

    def act(number: int):
        if number == RACERS // 2:
            stackscripts.delete(world.actor, script)
            return True
        return world.create(label=f"racer-{number}", stackscript_id=script.pk)

    results = race(act)

    fields = {problem.field for each in refused(results) for problem in each.problems}
    assert fields <= {"stackscript_id"}
    assert not StackScript.objects.exists()


def test_an_image_is_deployed_or_deleted_but_not_both(world):
    image = ImageFactory(id="private/70", number=70, account=world.account, is_public=False)

    def act(number: int):
        if number % 3 == 0:
            images.delete(world.actor, Image.objects.get(pk=image.pk))
            return True
        return world.create(label=f"racer-{number}", image=image.pk)

    results = race(act)

    refused(results)
    image.refresh_from_db()
    deployed = Instance.objects.filter(image=image).exists()
    assert image.status == ("available" if deployed else "deleting")


def test_deleting_a_pool_waits_for_a_range_that_is_being_cut(world):
    pool = AddressPoolFactory(region=world.region, kind="routed", network="2001:db8:5000::/40", gateway="fe80::1")
    refusals = []

    def delete() -> None:
        try:
            pools.remove_pool(pool)
        except Invalid as refusal:
            refusals.append(str(refusal))
        finally:
            connection.close()

    deletion = threading.Thread(target=delete)
    with transaction.atomic():
        made = ranges.cut(world.region.pk, 64)
        made.account = world.account
        made.save(force_insert=True)
        deletion.start()
        assert held_up()
    deletion.join()

    assert refusals == ["1 of its ranges is in use."]
    assert IPv6Range.objects.get().pool == pool
