"""Pages that rename tokens and SSH keys."""

import pytest

from accounts.models import Event, PersonalToken, SSHKey
from tests.accounts.pages.browsers import careful, problems, sign_in
from tests.accounts.signing_in import words
from tests.factories import PersonalTokenFactory

pytestmark = pytest.mark.django_db
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Vn5m3fM0Jz8Q3p1l3o3zXH0m0pY3lN8m7k2bq4t6S me@laptop"


def token_of(user) -> PersonalToken:
    return PersonalTokenFactory(user=user, label="ci")


def key_of(user) -> SSHKey:
    return SSHKey.objects.create(user=user, ssh_key=KEY, label="ci")


def page_of(named: PersonalToken | SSHKey) -> str:
    return f"/home/{'tokens' if isinstance(named, PersonalToken) else 'ssh-keys'}/{named.pk}/rename"


each = pytest.mark.parametrize("make", [token_of, key_of])


@pytest.mark.parametrize(
    ("make", "topic", "action", "message"),
    [
        (token_of, "tokens", "token_update", "The token laptop was saved."),
        (key_of, "ssh-keys", "user_ssh_key_update", "The key laptop was saved."),
    ],
)
def test_it_is_renamed_from_the_profile(browser, owner, make, topic, action, message):
    named = make(owner)
    page = page_of(named)
    assert f'href="{page}"' in browser.get(f"/home/profile/{topic}").content.decode()
    assert 'value="ci"' in browser.get(page).content.decode()
    answer = browser.post(page, {"label": "laptop"}, follow=True)
    assert (answer.request["PATH_INFO"], message in words(answer)) == (f"/home/profile/{topic}", True)
    named.refresh_from_db()
    assert named.label == "laptop"
    assert [(event.action, event.username) for event in Event.objects.all()] == [(action, "owner")]


@pytest.mark.parametrize(
    ("make", "label", "reason"),
    [
        (token_of, "", "Length must be 1-100 characters"),
        (token_of, "x" * 101, "Length must be 1-100 characters"),
        (token_of, "a\0b", "Label is not valid"),
        (key_of, "x" * 65, "Length must be 0-64 characters"),
        (key_of, "a\0b", "Label is not valid"),
    ],
)
def test_errors_are_shown_at_the_field_and_nothing_changes(browser, owner, make, label, reason):
    named = make(owner)
    assert problems(browser.post(page_of(named), {"label": label}), "label") == reason
    named.refresh_from_db()
    assert named.label == "ci"
    assert not Event.objects.exists()


def test_a_key_can_lose_its_label(browser, owner):
    key = key_of(owner)
    browser.post(page_of(key), {"label": ""})
    key.refresh_from_db()
    assert key.label == ""
    assert f"Rename key {key.pk}" in words(browser.get(page_of(key)))


@each
def test_only_by_its_user_and_a_form_of_ours(browser, owner, restricted, staff, make):
    for user in (restricted, staff):
        named = make(user)
        assert browser.get(page_of(named)).status_code == 404
        assert browser.post(page_of(named), {"label": "mine"}).status_code == 404
    assert sign_in("staff", staff).get(page_of(named)).status_code == 404, "staff are on no account"
    assert careful(browser).post(page_of(make(owner)), {"label": "mine"}).status_code == 403
    assert not Event.objects.exists()


@each
def test_restricted_users_rename_theirs(restricted, make):
    named = make(restricted)
    answer = sign_in("restricted", restricted).post(page_of(named), {"label": "laptop"})
    assert answer["Location"].startswith("/home/profile/")
    named.refresh_from_db()
    assert named.label == "laptop"


@each
def test_anonymous_users_are_sent_to_sign_in(client, owner, make):
    page = page_of(make(owner))
    assert client.get(page)["Location"] == f"/login?next={page}"
