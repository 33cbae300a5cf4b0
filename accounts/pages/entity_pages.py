"""The pages of entities of all kinds, for lists that mix them."""

from django.db.models import Model
from django.urls import reverse

from accounts.actors import Actor
from accounts.entities import EntityKind
from config.pages.grants import granted
from config.pages.navigation import NOUNS, Noun


def may_open(actor: Actor, noun: Noun) -> bool:
    """Tell whether the user has the grant that the pages of a noun need, if they need one."""
    return not noun.grant or granted(actor, noun.grant)


def address_of(kind: EntityKind, found: Model) -> str:
    """Return the address of an entity's page, or of the list of its noun if it has no page."""
    return reverse(kind.page, args=[found.pk]) if kind.page else NOUNS[kind.noun].address
