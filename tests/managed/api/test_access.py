"""Access to managed: who may use it at all."""

import pytest

from accounts.models import Account
from tests.factories import GlobalGrantsFactory

pytestmark = pytest.mark.django_db
LISTS = ("contacts", "credentials", "issues", "services", "compute-settings", "stats", "credentials/sshkey")


@pytest.mark.parametrize("path", LISTS)
def test_an_account_without_managed_gets_the_reason(api, account, path):
    Account.objects.filter(pk=account.pk).update(managed=False)
    answer = api.get(f"/v4/managed/{path}")
    assert answer.status_code == 403
    assert "managed-enable" in answer.json()["errors"][0]["reason"]
    api.post("/v4/account/settings/managed-enable")
    assert api.get(f"/v4/managed/{path}").status_code == 200


@pytest.mark.parametrize("path", LISTS)
def test_restricted_users_have_no_access_with_any_grant(client_for, account, path):
    granted = GlobalGrantsFactory(user__account=account, account_access="read_write").user
    assert client_for(granted).get(f"/v4/managed/{path}").status_code == 403


def test_without_permission_the_answer_hides_whether_it_is_enabled(client_for, restricted, account):
    Account.objects.filter(pk=account.pk).update(managed=False)
    assert client_for(restricted).get("/v4/managed/services").json()["errors"][0]["reason"] == "Unauthorized"
