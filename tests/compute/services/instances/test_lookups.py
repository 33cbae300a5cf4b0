"""A create finds exactly the objects that the models show to the caller."""

import pytest

from accounts.actors import Actor
from compute.models import Image
from compute.services.instances.lookups import find_choices
from tests.factories import AccountFactory, GrantFactory, ImageFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def images(world) -> list[str]:
    """Create for each status a public image, two of the account, and one of another account. `restricted` may
    use one."""
    rows, number = [world.image], 100
    for account, public in (
        (None, True),
        (world.account, False),
        (world.account, False),
        (AccountFactory(), False),
    ):
        for status in Image.Status:
            number += 1
            own = {"id": f"private/{number}", "number": number} if account else {"id": f"compute/{number}"}
            rows.append(ImageFactory(**own, account=account, is_public=public, status=status))
    return [row.pk for row in rows]


@pytest.fixture
def restricted(world, images) -> Actor:
    """A user with grants on the account's first image of each status, and on another account's images."""
    user = UserFactory(account=world.account, restricted=True)
    granted = [*range(105, 109), *range(113, 117)]
    for number in granted:
        GrantFactory(user=user, entity_type="image", entity_id=number, permissions="read_only")
    return Actor(world.account.pk, user.pk, user.username, restricted=True)


@pytest.mark.parametrize("who", ["owner", "restricted", "platform"])
def test_a_create_finds_the_images_that_are_visible(who, world, images, restricted):
    actors = {"owner": world.actor, "restricted": restricted, "platform": Actor.platform(world.account.pk)}
    actor = actors[who]
    visible = set(Image.objects.visible_to(actor).filter(pk__in=images).values_list("pk", flat=True))

    found = {pk: find_choices(actor, world.type.pk, world.region.pk, pk).image for pk in images}

    assert {pk for pk, image in found.items() if image} == visible
    assert all(image.pk == pk for pk, image in found.items() if image)
    assert not any(image.status == Image.Status.DELETING for image in found.values() if image)
    # three of the four statuses: public images, and the caller's own once or twice
    assert len(visible) == 1 + 3 * (2 if who == "restricted" else 3)


@pytest.mark.parametrize("image", [None, "compute/none", "%s"])
def test_no_image_is_found_where_none_is_named(image, world):
    found = find_choices(world.actor, world.type.pk, world.region.pk, image)
    assert (found.type, found.region, found.image) == (world.type, world.region, None)


def test_an_object_that_is_being_deleted_is_in_no_list(world):
    Image.objects.filter(pk=world.image.pk).update(status=Image.Status.DELETING)
    for actor in (None, world.actor):
        assert not Image.objects.visible_to(actor).filter(pk=world.image.pk).exists()
