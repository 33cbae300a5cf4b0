"""The references by which events name the entities of this app."""

from accounts.models import Account, OAuthClient, SSHKey, Ticket, User
from accounts.services.events import EntityRef


def account_ref(account: Account) -> EntityRef:
    return EntityRef("account", account.pk, str(account), "/v4/account")


def settings_ref(account: Account) -> EntityRef:
    return EntityRef("account", account.pk, str(account), "/v4/account/settings")


def client_ref(client: OAuthClient) -> EntityRef:
    return EntityRef("oauth_client", client.pk, client.name, f"/v4/account/oauth-clients/{client.client_id}")


def profile_ref(user: User) -> EntityRef:
    return EntityRef("profile", user.pk, user.username, "/v4/profile")


def ssh_key_ref(key: SSHKey) -> EntityRef:
    return EntityRef("user_ssh_key", key.pk, key.label, f"/v4/profile/sshkeys/{key.pk}")


def ticket_ref(ticket: Ticket) -> EntityRef:
    return EntityRef("ticket", ticket.pk, ticket.summary, f"/v4/support/tickets/{ticket.pk}")


def user_ref(user: User) -> EntityRef:
    return EntityRef("user", user.pk, user.username, f"/v4/account/users/{user.username}")
