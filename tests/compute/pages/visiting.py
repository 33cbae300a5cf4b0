"""Users in browsers, on the pages of one instance."""

import time

from django.test import Client

from accounts.models import Event, User
from compute.models import Instance
from tests.compute.at_consoles import signed_in
from tests.factories import GlobalGrantsFactory, GrantFactory
from tests.world import World

HTMX = {"HX-Request": "true"}


def page_of(instance: Instance, page: str = "") -> str:
    return f"/home/instances/{instance.pk}{'/' if page else ''}{page}"


def owner_of(world: World) -> Client:
    """Return the browser of the world's owner, who has just confirmed the password."""
    return confirmed(signed_in(User.objects.get(pk=world.actor.person)))


def confirmed(browser: Client) -> Client:
    session = browser.session
    session["confirmed"] = time.time()
    session.save()
    return browser


def restricted_at(instance: Instance, level: str = "read_only", **grants: bool) -> Client:
    """Return the browser of a restricted user with this grant on the instance."""
    user = GlobalGrantsFactory(user__account=instance.account, **grants).user
    GrantFactory(user=user, entity_id=instance.pk, permissions=level)
    return confirmed(signed_in(user))


def text_of(answer) -> str:
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def last_event(instance: Instance) -> str:
    return Event.objects.filter(entity_type="compute", entity_id=instance.pk).order_by("-pk")[0].action
