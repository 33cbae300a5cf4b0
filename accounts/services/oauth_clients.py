"""The apps that an account registers: OAuth clients."""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.hashers import make_password
from django.db import transaction
from oauth2_provider.generators import generate_client_id, generate_client_secret
from oauth2_provider.settings import oauth2_settings

from accounts.actors import Actor
from accounts.models import Authorization, OAuthClient, OAuthRefreshToken
from accounts.redirects import check_redirect_uri
from accounts.services import access, quotas
from accounts.services.events import record_event
from accounts.services.refs import client_ref
from config.db.rows import differing, lock
from config.errors import Invalid, Missing, Problems


@dataclass(frozen=True, slots=True)
class ClientSpec:
    """The values of a new client. `public` clients, such as apps in browsers or on phones, can keep no secret.

    A missing label or address failed a check before, so the client is refused.
    """

    label: str | None
    redirect_uri: str | None
    public: bool = False


@transaction.atomic
def create(actor: Actor, spec: ClientSpec, problems: Problems | None = None) -> tuple[OAuthClient, str]:
    """Register a client of the actor's account. Return it with its secret, which cannot be read again.

    The secret of a public client is empty. Raises `Invalid` with every failing field, the `problems` before
    ``redirect_uri``, and without a field if the account has used up its quota.
    """
    problems = problems or Problems()
    _check(spec.redirect_uri, problems)
    quotas.check_quota(actor, "oauth_clients", OAuthClient.objects.visible_to(actor), problems)
    label = problems.checked(spec.label)
    redirect_uri = problems.checked(spec.redirect_uri)
    secret = "" if spec.public else generate_client_secret()
    client = OAuthClient.objects.create(
        account_id=actor.account_id,
        name=label,
        client_id=generate_client_id(),
        client_secret=secret,
        redirect_uris=redirect_uri,
        client_type=_type(spec.public),
        authorization_grant_type=OAuthClient.GRANT_AUTHORIZATION_CODE,
    )
    record_event(actor, "oauth_client_create", client_ref(client))
    return client, secret


@transaction.atomic
def update(actor: Actor, client: OAuthClient, changes: dict[str, Any], problems: Problems | None = None) -> None:
    """Write `changes` if they differ: values of the columns ``name`` and ``redirect_uris``, and ``public``.

    A client that becomes public loses its secret and its refresh tokens, and so all access that lasts longer than
    an access token. A client that becomes confidential has an unknown secret until it is reset.

    Raises `Invalid` with every failing field, the `problems` before ``redirect_uri``, and `Missing` if another
    request deleted the client.
    """
    problems, columns = problems or Problems(), dict(changes)
    _check(columns.get("redirect_uris"), problems)
    problems.raise_any()
    if "public" in columns:
        columns["client_type"] = _type(columns.pop("public"))
    public = columns.get("client_type") == OAuthClient.CLIENT_PUBLIC
    authorizations = access.lock_authorizations(client=client) if public else []
    wanted = differing(lock(OAuthClient.objects.filter(pk=client.pk)), columns)
    for name, value in columns.items():
        setattr(client, name, value)
    if not wanted:
        return
    if "client_type" in wanted:
        # Not the empty secret of a public client: anybody could authenticate with it.
        secret = "" if public else generate_client_secret()
        wanted["client_secret"] = make_password(secret, hasher=oauth2_settings.CLIENT_SECRET_HASHER)
    # Not `save`, which would hash the hash of the secret once more.
    OAuthClient.objects.filter(pk=client.pk).update(**wanted)
    if public and "client_type" in wanted:
        OAuthRefreshToken.objects.filter(application=client).delete()
        access.settle(authorizations)
    record_event(actor, "oauth_client_update", client_ref(client))


@dataclass(frozen=True, slots=True)
class Ended:
    """The numbers of users' authorizations and of tokens that ended with a change of a client's status."""

    authorizations: int
    tokens: int


@transaction.atomic
def set_status(actor: Actor | None, client: OAuthClient, status: str) -> Ended:
    """Make a client ``active``, or stop it. For staff. `actor` is None for the platform's own clients, which have
    no events.

    From the next request on, a stopped client is unknown and its tokens answer 401. ``disabled`` is a pause: when
    the client is active again, apps continue with their refresh tokens. ``suspended`` is for abuse: all its codes,
    tokens and authorizations end, and users must consent again.

    Raises `Invalid` if the client has that status already, or is suspended and would become disabled.
    """
    if status == OAuthClient.Status.SUSPENDED:
        access.lock_authorizations(client=client)  # they are locked before their client, and deleted at the end
    locked = lock(OAuthClient.objects.filter(pk=client.pk))
    if locked.status == status:
        raise Invalid(f"The client is {status} already.")
    if locked.status == OAuthClient.Status.SUSPENDED and status == OAuthClient.Status.DISABLED:
        raise Invalid("The client is suspended. Activate it before you disable it.")
    OAuthClient.objects.filter(pk=client.pk).update(status=status)
    client.status = status
    ended = _end_all(client) if status == OAuthClient.Status.SUSPENDED else Ended(0, 0)
    if actor is not None:
        record_event(actor, "oauth_client_update", client_ref(client), message=f"The client is {status}.")
    return ended


def _end_all(client: OAuthClient) -> Ended:
    tokens = access.end_tokens(client)
    return Ended(Authorization.objects.filter(client=client).delete()[0], tokens)


@transaction.atomic
def delete(actor: Actor, client: OAuthClient) -> None:
    """Delete the client with all tokens that users gave it. Raises `Missing` if another request was first."""
    ref = client_ref(client)
    # The deletion deletes them too, in any order. So they are locked in one order, as by the deletion of a user.
    list(Authorization.objects.filter(client=client).order_by("pk").select_for_update().values("pk"))
    if not OAuthClient.objects.filter(pk=client.pk).delete()[0]:
        raise Missing
    record_event(actor, "oauth_client_delete", ref)


@transaction.atomic
def reset_secret(actor: Actor, client: OAuthClient) -> str:
    """Give the client a new secret and return it. It cannot be read again.

    The old secret ends at once. The client's tokens stay valid. Raises `Invalid` if the client is public and so has
    no secret, and `Missing` if another request deleted it.
    """
    if lock(OAuthClient.objects.filter(pk=client.pk)).client_type == OAuthClient.CLIENT_PUBLIC:
        raise Invalid("A public client has no secret.")
    secret = generate_client_secret()
    client.client_secret = secret
    client.save(update_fields=["client_secret"])
    record_event(actor, "oauth_client_secret_reset", client_ref(client))
    return secret


def _type(public: bool) -> str:
    return OAuthClient.CLIENT_PUBLIC if public else OAuthClient.CLIENT_CONFIDENTIAL


def _check(redirect_uri: str | None, problems: Problems) -> None:
    if redirect_uri is not None and (reason := check_redirect_uri(redirect_uri)):
        problems.add("redirect_uri", reason)
