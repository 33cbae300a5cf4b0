"""Recording logins."""

from accounts.models import Login, User


def note(user: User, ip: str) -> Login:
    """Write a successful login of `user` from the address `ip`. In the caller's transaction."""
    return Login.objects.create(
        account_id=user.account_id, user=user, username=user.username, restricted=user.restricted, ip=ip
    )
