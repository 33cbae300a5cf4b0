"""The roles of the platform's staff: groups, whose permissions are those of their members in the admin."""

from collections.abc import Collection

from django.contrib.auth.models import Group
from django.db import transaction

from accounts.models import User
from config.db.rows import lock, write
from config.errors import Problems

LAST = "The user is the only superuser. Make another user a superuser first."


def groups_named(names: Collection[str], problems: Problems) -> list[Group]:
    """Return the groups with these names. Adds a problem with ``role`` for each unknown name."""
    found = {group.name: group for group in Group.objects.filter(name__in=names)}
    unknown = [name for name in dict.fromkeys(names) if name not in found]
    known = ", ".join(Group.objects.order_by("name").values_list("name", flat=True)) if unknown else ""
    for name in unknown:
        problems.add("role", f"There is no role {name!r}. Use one of: {known or 'those that `migrate` makes'}.")
    return list(found.values())


@transaction.atomic
def set_roles(user: User, names: Collection[str], *, superuser: bool = False) -> None:
    """Give a staff user exactly the roles of these names, and make it a superuser only if `superuser` is set.

    Raises `Invalid` on ``username`` if the user is no staff, or is the only superuser and would lose this. Raises
    `Invalid` on ``role`` for each unknown name, and `Missing` if the user is gone.
    """
    problems = Problems()
    # All superusers' rows: otherwise two superusers could be demoted at the same moment, each while the other one
    # is left.
    others = User.objects.filter(is_superuser=True, is_active=True).select_for_update(no_key=True).order_by("pk")
    left = [each for each in others if each.pk != user.pk]
    user = lock(User.objects.filter(pk=user.pk))
    if user.account_id is not None or not user.is_staff:
        problems.add("username", f"{user.username!r} is not a staff user. Only staff users have roles.")
    elif user.is_superuser and not superuser and not left:
        problems.add("username", LAST)
    groups = groups_named(names, problems)
    problems.raise_any()
    write(user, {"is_superuser": superuser})
    user.groups.set(groups)


def roles_of(user: User) -> list[str]:
    """Return the names of the user's roles."""
    return list(user.groups.order_by("name").values_list("name", flat=True))
