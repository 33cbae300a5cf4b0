"""Staff roles: three groups that every installation has, with the same permissions after each migration.

Apps declare once, at import, which models a role may change. All roles can view every page, because staff who
cannot see a page cannot answer customers.

The groups belong to the platform: `sync` resets their permissions and keeps their members. It changes no other
group. Superusers need no role, and only superusers give roles.
"""

from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import Model

SUPPORT, OPERATOR, AUDITOR = "support", "operator", "auditor"
ROLES = {
    SUPPORT: "Answers customers: their accounts, users, tokens and tickets, and the power of their instances.",
    OPERATOR: "Runs the platform: hosts, jobs, migrations, networks, the catalogue, and the power of instances.",
    AUDITOR: "Sees every page and changes nothing.",
}
"""The roles, with the purpose of each."""

Key = tuple[str, str]
"""A permission by its app's label and its codename."""

_allowed: dict[str, list[tuple[type[Model], tuple[str, ...]]]] = {role: [] for role in ROLES}


def allow(role: str, *models: type[Model], to: str) -> None:
    """Give a role permissions on models. `to` names them as Django does, space-separated: ``add change``."""
    _allowed[role] += [(model, tuple(to.split())) for model in models]


def permissions_of(role: str) -> set[Key]:
    """Return all permissions of a role: to view every model with a page, and the permissions that apps gave the
    role.
    """
    keys = {_key(model, "view") for model in admin.site._registry}
    return keys | {_key(model, action) for model, actions in _allowed[role] for action in actions}


@transaction.atomic
def sync() -> None:
    """Create missing groups and set the groups' permissions. Writes nothing if everything is right.

    Call it after migrations, when the permissions' rows exist.
    """
    # Migrations create content types through a historical model, whose manager has a cache of its own. The entries
    # of this process may be of another database, or older than the migration.
    ContentType.objects.clear_cache()
    kinds = ContentType.objects.get_for_models(*_models(), for_concrete_models=False)
    rows = Permission.objects.filter(content_type__in=kinds.values()).select_related("content_type")
    known = {(row.content_type.app_label, row.codename): row for row in rows}
    for role in ROLES:
        group, _ = Group.objects.get_or_create(name=role)
        group.permissions.set([known[key] for key in sorted(permissions_of(role))])


def is_role(group: Group | None) -> bool:
    """Tell whether a group is one of the platform's own."""
    return group is not None and group.name in ROLES


def _models() -> set[type[Model]]:
    return {*admin.site._registry, *(model for given in _allowed.values() for model, _ in given)}


def _key(model: type[Model], action: str) -> Key:
    return model._meta.app_label, f"{action}_{model._meta.model_name}"
