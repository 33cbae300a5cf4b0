"""The caller of a service. Services take an `Actor`, never a request or a user row."""

from dataclasses import dataclass, field

ALL_SCOPES = "*"


@dataclass(frozen=True, slots=True)
class Actor:
    """The user, or the platform, on whose behalf a service acts.

    Authentication builds an actor from one SQL row. The admin builds one for staff who act on an account, and
    `Actor.platform` for the platform's own changes. `grants` holds the account-level grants that are on
    (``add_computes`` …). `account_access` is the level of access to the account, or None. Both matter only if the
    actor is `restricted`.
    """

    account_id: int
    user_id: int | None = None
    username: str = ""
    restricted: bool = False
    scopes: tuple[str, ...] = (ALL_SCOPES,)
    account_access: str | None = None
    grants: frozenset[str] = field(default_factory=frozenset)
    client_id: str | None = None
    is_staff: bool = False

    # DRF and Django read these attributes of request.user
    is_authenticated = True
    is_anonymous = False
    is_active = True

    @property
    def pk(self) -> int | None:
        return self.user_id

    @classmethod
    def platform(cls, account_id: int) -> "Actor":
        """Return an actor for the platform, acting on an account by itself: watchdog, maintenance.

        Events name no user.
        """
        return cls(account_id=account_id)

    @property
    def person(self) -> int:
        """The id of the acting user. Raises `RuntimeError` for the platform, which has no profile."""
        if self.user_id is None:
            raise RuntimeError("the platform is no user")
        return self.user_id

    def may(self, grant: str) -> bool:
        """Tell whether the actor has an account-level grant such as ``add_computes``.

        Unrestricted actors have them all.
        """
        return not self.restricted or grant in self.grants
