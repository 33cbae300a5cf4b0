"""The users of an account: invite, change, restrict, remove."""

import re
from collections.abc import Collection

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import Group
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.tokens import default_token_generator
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from accounts.actors import Actor
from accounts.entities import kinds
from accounts.models import (
    Account,
    Event,
    GlobalGrants,
    Grant,
    Login,
    Ticket,
    TicketAttachment,
    TicketReply,
    User,
)
from accounts.models.users import NAME, TAKEN
from accounts.services import outbox, quotas
from accounts.services.events import record_event
from accounts.services.refs import user_ref
from accounts.services.staff import groups_named
from config.db.rows import add_failing_fields, differing, lock, write
from config.errors import Invalid, Problems

NAME_RULE = "A username has 3 to 32 letters and digits, and between them single dashes and underscores."
MAX_NAME_LENGTH = 32
LAST_UNRESTRICTED = "An account needs at least one unrestricted user."
"""The reason for a refusal. Invited users who have not chosen a password do not count."""


@transaction.atomic
def invite(
    actor: Actor,
    username: str | None,
    email: str | None,
    restricted: bool = True,
    problems: Problems | None = None,
) -> User:
    """Create a user of the actor's account, and mail the user an address at which to choose a password.

    A restricted user has no permissions until it has grants. Name and address are None if they failed a check
    before. Raises `Invalid` with every failing field, the `problems` before ``username`` if a user of any account
    has the name. Raises `Invalid` without a field if the account has used up its quota of users.
    """
    problems = problems or Problems()
    quotas.check_quota(actor, "users", User.objects.filter(account_id=actor.account_id), problems)
    if username is not None:
        _note_taken_name(username, problems)
    username = problems.checked(username)
    email = problems.checked(email)
    user = User.objects.create_user(username, email, account_id=actor.account_id, restricted=restricted)
    if restricted:
        GlobalGrants.objects.create(user=user)
    _mail_invitation(user, actor.username)
    record_event(actor, "user_create", user_ref(user))
    return user


@transaction.atomic
def create(
    username: str,
    email: str,
    account: Account | None,
    *,
    restricted: bool = False,
    password: str | None = None,
    roles: Collection[str] = (),
) -> User:
    """Create a user of an account or, without an account, a staff user. For the operator.

    A staff user has `roles`. Without roles, it may do everything in the admin. Without a password, the user is
    mailed an address at which to choose one. The account's event is the platform's, and names no user. Raises
    `Invalid` with every failing field. An unknown role fails ``role``.
    """
    user = User(
        username=username, email=User.objects.normalize_email(email), account=account, restricted=restricted
    )
    user.is_staff = account is None
    user.is_superuser = user.is_staff and not roles
    groups = _check_new(user, password, roles)
    user.set_password(password)
    user.save()
    if groups:
        user.groups.set(groups)
    if restricted:
        GlobalGrants.objects.create(user=user)
    if password is None:
        _mail_invitation(user)
    if account is not None:
        record_event(Actor.platform(account.pk), "user_create", user_ref(user))
    return user


def problem_with_name(username: str) -> str | None:
    """Return the reason why a new user cannot have this name, or None."""
    if len(username) > MAX_NAME_LENGTH or not re.fullmatch(NAME, username):
        return NAME_RULE
    return TAKEN if User.objects.filter(username__iexact=username).exists() else None


def _check_new(user: User, password: str | None, roles: Collection[str]) -> list[Group]:
    """Return the groups of the roles. Raises `Invalid`."""
    problems = Problems()
    if problem := problem_with_name(user.username):
        problems.add("username", problem)
    add_failing_fields(problems, user, but=["username", "password"])
    if user.restricted and user.account is None:
        problems.add("restricted", "Only users of an account are restricted: staff have permissions in the admin.")
    if password is not None:
        try:
            validate_password(password, user)
        except ValidationError as error:
            problems.add("password", " ".join(error.messages))
    if roles and user.account is not None:
        problems.add("role", "Only staff have roles: users of an account have grants.")
    groups = groups_named(roles, problems) if user.account is None else []
    problems.raise_any()
    return groups


def _mail_invitation(user: User, inviter: str = "") -> None:
    outbox.mail(user, "invitation", {"inviter": inviter, "path": password_path(user)})


@transaction.atomic
def mail_password(actor: Actor | None, user: User) -> None:
    """Mail a user an address at which to choose a new password. For staff.

    Without an actor, for users on no account, there is no event. Raises `Invalid` if the user is suspended, or
    signs in with a provider.
    """
    if not user.is_active:
        raise Invalid("The user is suspended.")
    if user.authentication_type != User.PASSWORD:
        raise Invalid("The user signs in through another provider, and has no password here.")
    outbox.mail(user, "password_reset", {"path": password_path(user)})
    if actor is not None:
        record_event(
            actor,
            "password_reset",
            user_ref(user),
            message="Support sent a mail with a link to choose a new password.",
        )


def password_path(user: User) -> str:
    """Return the path at which only `user` can set a password. It works once, within ``PASSWORD_RESET_TIMEOUT``."""
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    return reverse("set-password", kwargs={"uidb64": uid, "token": default_token_generator.make_token(user)})


@transaction.atomic
def update(
    actor: Actor,
    user: User,
    *,
    username: str | None,
    email: str | None,
    restricted: bool | None,
    problems: Problems | None = None,
) -> None:
    """Write the given values that differ. None means not given.

    If the address changes, a mail tells the former one.

    Raises `Invalid` with every failing field: the `problems`, then ``username`` if it is taken, and ``restricted``
    if no unrestricted user would be left. Raises `Missing` if the user is gone.
    """
    problems = problems or Problems()
    user = _lock_row(user)
    given = {"email": email, "restricted": restricted, "username": username}
    wanted = differing(user, {name: value for name, value in given.items() if value is not None})
    if wanted.get("restricted"):
        note_last(user, problems)
    if "username" in wanted:
        _note_taken_name(wanted["username"], problems, user)
    problems.raise_any()
    if not wanted:
        return
    if "restricted" in wanted:
        restrict(user) if wanted["restricted"] else _free(user)
    before, former = user.username, user.email
    write(user, wanted)
    outbox.warn_former(user, former)
    if "username" in wanted:
        _rename(user, before)
    record_event(actor, "user_update", user_ref(user))


@transaction.atomic
def remove(actor: Actor, user: User) -> None:
    """Delete the user with its tokens, keys and grants. The entities that it created stay, and so do its events.

    Raises `Invalid` if no unrestricted user would be left, and `Missing` if another request was first.
    """
    user, problems = _lock_row(user), Problems()
    if not user.restricted:
        note_last(user, problems)
    problems.raise_any()
    ref = user_ref(user)
    User.objects.filter(pk=user.pk).delete()
    record_event(actor, "user_delete", ref)


def restrict(user: User) -> None:
    """Prepare the restriction of a user, which starts with no grants, in the caller's transaction.

    `note_last` checks for the last unrestricted user.
    """
    GlobalGrants.objects.get_or_create(user=user)


def _lock_row(user: User) -> User:
    """Lock and re-read the user: its restriction or its grants may have changed since it was read.

    The user's row is locked before the account's, as everywhere. Raises `Missing` if it is gone.
    """
    return lock(User.objects.filter(pk=user.pk))


def _free(user: User) -> None:
    """Delete a user's grants: an unrestricted user has none."""
    GlobalGrants.objects.filter(user=user).delete()
    Grant.objects.filter(user=user).delete()


def is_last(user: User) -> bool:
    """Tell whether `user` is the only unrestricted user of the account."""
    return not user.restricted and not _other_unrestricted(user).exists()


def note_last(user: User, problems: Problems) -> None:
    """Add a problem with ``restricted`` if `user` is the only unrestricted one.

    Concurrent checks wait for the account's row.
    """
    Account.objects.select_for_update(no_key=True).get(pk=user.account_id or 0)
    if not _other_unrestricted(user).exists():
        problems.add("restricted", LAST_UNRESTRICTED)


def has_open_invitation(user: User) -> bool:
    """Tell whether a user has never had a password: the user did not follow the address in the invitation yet."""
    return user.authentication_type == User.PASSWORD and not user.has_usable_password()


def _other_unrestricted(user: User) -> QuerySet[User]:
    """Return the users who can manage the account without `user`.

    A user who has not accepted the invitation may never do so. Such a user only replaces another invited user.
    """
    others = User.objects.filter(account=user.account, restricted=False, is_active=True).exclude(pk=user.pk)
    if has_open_invitation(user):
        return others
    return others.exclude(authentication_type=User.PASSWORD, password__startswith=UNUSABLE_PASSWORD_PREFIX)


def _note_taken_name(username: str, problems: Problems, user: User | None = None) -> None:
    """Add a problem with ``username`` if another user has the name, in any case."""
    others = User.objects.filter(username__iexact=username)
    if (others if user is None else others.exclude(pk=user.pk)).exists():
        problems.add("username", TAKEN)


def _rename(user: User, before: str) -> None:
    """Write the user's new name to its events, logins, tickets and entities: another user may take the old name.

    Rows from before the user joined belong to an earlier user with the old name, and stay.
    """
    account, since = user.account, user.date_joined
    Event.objects.filter(account=account, username=before, created__gte=since).update(username=user.username)
    Login.objects.filter(user=user).update(username=user.username)
    tickets = Ticket.objects.filter(account=account)
    tickets.filter(opened_by=before, opened__gte=since).update(opened_by=user.username)
    tickets.filter(updated_by=before, updated__gte=since).update(updated_by=user.username)
    replies = TicketReply.objects.filter(ticket__account=account, created_by=before, from_staff=False)
    replies.filter(created__gte=since).update(created_by=user.username)
    files = TicketAttachment.objects.filter(ticket__account=account, created_by=before, created__gte=since)
    files.update(created_by=user.username)
    for kind in kinds():
        if kind.author:
            made = kind.model._default_manager.filter(account=account, created__gte=since, **{kind.author: before})
            made.update(**{kind.author: user.username})
        for model, path in kind.authored:
            parts = model._default_manager.filter(created__gte=since, **{f"{path}__account": account})
            parts.filter(**{kind.author: before}).update(**{kind.author: user.username})
