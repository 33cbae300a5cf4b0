"""SSH keys are added and removed in the profile."""

import pytest

from accounts.models import Event, SSHKey
from tests.accounts.pages.browsers import careful, problems, signed_in_ago

pytestmark = pytest.mark.django_db
PAGE = "/home/ssh-keys/new"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1Vn5m3fM0Jz8Q3p1l3o3zXH0m0pY3lN8m7k2bq4t6S me@laptop"


def test_a_key_is_added_and_seen_in_the_profile(browser, owner, client_for):
    answer = browser.post(PAGE, {"ssh_key": f"{KEY}\n", "label": "work"}, follow=True)
    assert answer.request["PATH_INFO"] == "/home/profile/ssh-keys"
    assert "The key work was added." in answer.content.decode()
    assert "SHA256:" in answer.content.decode()
    assert [event.action for event in Event.objects.all()] == ["user_ssh_key_add"]
    [seen] = client_for(owner).get("/v4/profile/sshkeys").json()["data"]
    assert (seen["label"], seen["ssh_key"]) == ("work", KEY)


def test_without_a_label_it_is_called_by_its_comment(browser):
    browser.post(PAGE, {"ssh_key": KEY, "label": ""})
    assert SSHKey.objects.get().label == "me@laptop"


@pytest.mark.parametrize(
    ("wrong", "field", "reason"),
    [
        ({"ssh_key": ""}, "ssh_key", '"Public key" is required'),
        ({"ssh_key": "hello"}, "ssh_key", '"Public key" is not valid'),
        ({"ssh_key": "ssh-ed25519 AAAA"}, "ssh_key", '"Public key" is not valid'),
        ({"ssh_key": "ssh-new AAAA"}, "ssh_key", "SSH key type is not supported"),
        ({"ssh_key": f"{KEY}\r\n{KEY}"}, "ssh_key", '"Public key" is not valid'),
        ({"ssh_key": f"{KEY} {'x' * 17000}"}, "ssh_key", '"Public key" is not valid'),
        ({"ssh_key": f"{KEY}\x00"}, "ssh_key", '"Public key" is not valid'),
        ({"label": "x" * 65}, "label", "Length must be 0-64 characters"),
    ],
)
def test_errors_are_shown_at_the_field_and_nothing_is_added(browser, wrong, field, reason):
    answer = browser.post(PAGE, {"ssh_key": KEY, "label": "work"} | wrong)
    assert reason in problems(answer, field)
    assert not SSHKey.objects.exists()
    assert not Event.objects.exists()


def test_a_label_is_shown_as_text(browser):
    browser.post(PAGE, {"ssh_key": KEY, "label": "<b>mine</b>"})
    assert b"<b>mine" not in browser.get("/home/profile/ssh-keys").content


class TestRemovingOne:
    @pytest.fixture
    def key(self, owner) -> SSHKey:
        return SSHKey.objects.create(user=owner, ssh_key=KEY, label="work")

    def test_it_is_gone(self, browser, key):
        assert browser.post(f"/home/ssh-keys/{key.pk}/revoke")["Location"] == "/home/profile/ssh-keys"
        assert not SSHKey.objects.exists()
        assert [event.action for event in Event.objects.all()] == ["user_ssh_key_delete"]
        assert browser.post(f"/home/ssh-keys/{key.pk}/revoke").status_code == 404

    def test_a_key_of_another_user_is_not_found(self, browser, stranger):
        theirs = SSHKey.objects.create(user=stranger, ssh_key=KEY)
        assert browser.post(f"/home/ssh-keys/{theirs.pk}/revoke").status_code == 404
        assert SSHKey.objects.exists()

    def test_a_link_removes_no_key(self, browser, key):
        assert browser.get(f"/home/ssh-keys/{key.pk}/revoke").status_code == 405

    def test_a_form_of_another_site_is_refused(self, browser, key):
        assert careful(browser).post(f"/home/ssh-keys/{key.pk}/revoke").status_code == 403
        assert SSHKey.objects.exists()


def test_staff_have_no_instances_for_a_key(staff_browser):
    assert staff_browser.get(PAGE).status_code == 404
    assert staff_browser.post(PAGE, {"ssh_key": KEY}).status_code == 404
    assert not SSHKey.objects.exists()


def test_a_browser_that_was_left_alone_adds_none(browser):
    signed_in_ago(browser, 2000)
    assert browser.post(PAGE, {"ssh_key": KEY})["Location"].startswith("/home/confirm")
    assert not SSHKey.objects.exists()
