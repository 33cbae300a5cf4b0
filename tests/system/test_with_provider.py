"""The commands of docs/signing-in.md for a provider of one's own. Only addresses and secrets differ."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from accounts.models import ExternalIdentity, User
from tests.oidc_provider import PASSWORD as AT_THE_PROVIDER
from tests.oidc_provider import subject_of
from tests.ports import free_port
from tests.tours.pages import blocks_for, replaced
from tests.tours.person import hidden
from tests.waiting import wait_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system]

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "correct-horse-7-battery"
SECONDS = 300


@pytest.fixture
def site() -> str:
    return f"http://127.0.0.1:{free_port()}"


@pytest.fixture
def client(site, tmp_path) -> Iterator[dict[str, str]]:
    """The client that is registered at the provider: its issuer, id and secret."""
    folder = tmp_path / "provider"
    folder.mkdir()
    command = [sys.executable, "-m", "tests.oidc_provider", str(folder), f"{site}/login/external/callback"]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield json.loads(process.stdout.readline())
    finally:
        process.communicate()  # it ends with its input


@pytest.fixture
def server(site, client, process_env, tmp_path) -> Iterator[str]:
    """A web process, started in the shell of the typed block. Yields its address."""
    [block] = blocks_for(__file__)
    typed = replaced(
        block,
        {
            "https://cloud.example.com": site,
            "https://id.example.com/realms/staff": client["issuer"],
            "OIDC_CLIENT_ID=skerry": f"OIDC_CLIENT_ID={client['client_id']}",
            "OIDC_CLIENT_SECRET=…": f"OIDC_CLIENT_SECRET={client['client_secret']}",
        },
    )
    port = site.rpartition(":")[2]
    web = f"exec {sys.executable} -m granian --interface rsgi --port {port} config.rsgi:application"
    log = tmp_path / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["bash", "-e", "-c", f"{typed}\n{web}"],
            cwd=ROOT, env=process_env | {"OIDC_TIMEOUT": str(SECONDS)}, stdin=subprocess.DEVNULL, stdout=out,
            stderr=out, start_new_session=True,
        )  # fmt: skip

    def answers() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            return requests.get(f"{site}/healthz", timeout=SECONDS).ok
        except requests.ConnectionError:
            return False

    try:
        wait_for(answers)
        yield site
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(SECONDS)


def follow(browser: requests.Session, page: requests.Response, path: str, **fields: str) -> requests.Response:
    """Send the form of a page to the form's address."""
    target = requests.compat.urljoin(page.url, path)
    return browser.post(target, data={**hidden(page), **fields}, timeout=SECONDS)


def test_the_commands_of_the_page_set_up_sign_in_with_a_provider(server, owner):
    owner.set_password(PASSWORD)
    owner.save(update_fields=["password"])

    with requests.Session() as browser:
        login = browser.get(f"{server}/login", timeout=SECONDS)
        assert "Sign in with Example ID" in login.text
        follow(browser, login, "", username=owner.username, password=PASSWORD)
        assert "Use Example ID instead" in browser.get(f"{server}/home/profile/sign-in", timeout=SECONDS).text
        tie = browser.get(f"{server}/home/external", timeout=SECONDS)
        at_the_provider = follow(browser, tie, "", password=PASSWORD)
        back = follow(browser, at_the_provider, "", username="kari", password=AT_THE_PROVIDER)
        assert back.url == f"{server}/home/profile/sign-in", back.text
    assert ExternalIdentity.objects.get(user=owner).subject == subject_of("kari")

    with requests.Session() as browser:
        login = browser.get(f"{server}/login", timeout=SECONDS)
        at_the_provider = follow(browser, login, "/login/external")
        back = follow(browser, at_the_provider, "", username="kari", password=AT_THE_PROVIDER)
        assert back.url == f"{server}/home", back.text
        assert owner.username in back.text
    assert not User.objects.get(pk=owner.pk).has_usable_password()
