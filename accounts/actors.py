"""Who is acting. Services take an `Actor`, never a request or a user row."""

from dataclasses import dataclass, field

ALL_SCOPES = "*"


@dataclass(frozen=True, slots=True)
class Actor:
    """The one on whose behalf something is done.

    Built by authentication from one SQL row, by the admin for staff acting on an account, and by
    `Actor.platform` for what the platform does by itself. `grants` holds the account-level grants that are
    on (``add_computes`` …) and `account_access` their level or None; both matter only when `restricted`.
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

    # DRF and Django ask these of whatever sits on request.user
    is_authenticated = True
    is_anonymous = False
    is_active = True

    @property
    def pk(self) -> int | None:
        return self.user_id

    @classmethod
    def platform(cls, account_id: int) -> "Actor":
        """The platform acting on an account by itself: watchdog, maintenance. Events name no user."""
        return cls(account_id=account_id)

    @property
    def person(self) -> int:
        """The id of the user who acts. Raises `RuntimeError` for the platform, which has no profile."""
        if self.user_id is None:
            raise RuntimeError("the platform is no user")
        return self.user_id

    def may(self, grant: str) -> bool:
        """Whether an account-level grant such as ``add_computes`` is given; always, to the unrestricted."""
        return not self.restricted or grant in self.grants
