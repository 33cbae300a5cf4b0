"""README's *For real* as a person types it, behind the nginx of docs/nginx.conf. Only paths, ports and secrets
differ."""

import email
import email.policy
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyotp
import pytest
import requests
import urllib3.util.connection

from accounts.models import Event, Login, User
from config.laptop.embedded import addresses, services
from tests.certificates import certificate, new_key, pem
from tests.lock_files import PRODUCTION, only
from tests.ports import free_port
from tests.tours.pages import blocks_for, replaced
from tests.waiting import wait_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system]

ROOT = Path(__file__).resolve().parents[2]
NAME = "cloud.example.com"
CLIENT = "127.0.0.5"
"""The address of the client: not the address that nginx uses."""
PASSWORD = "correct-horse-7-battery"
NGINX = """
pid {folder}/nginx.pid;
error_log {folder}/error.log;
worker_processes 1;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


def nginx() -> str:
    found = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if found is None:
        assert not os.environ.get("CI"), "nginx is not installed"
        pytest.skip("nginx is not installed")
    return found


KEY = "0123456789abcdef" * 4


class Installation:
    """An operator's machine: the blocks of README typed into one shell, with nginx in front."""

    def __init__(self, folder: Path, env: dict[str, str]):
        self.folder, self.env = folder, env
        self.web, self.stream, self.plain, self.tls = free_port(), free_port(), free_port(), free_port()
        self.url = f"https://{NAME}:{self.tls}"
        self.ca = folder / "ca.pem"
        self.mails = folder / "mails"
        self.typed = (folder / "typed").open("w+")
        self.processes: list[subprocess.Popen] = []

    def start_nginx(self) -> None:
        key = new_key()
        self.ca.write_text(certificate(key, NAME, NAME))
        (self.folder / "key.pem").write_text(pem(key))
        site = replaced(
            (ROOT / "docs" / "nginx.conf").read_text(),
            {
                "/etc/letsencrypt/live/cloud.example.com/fullchain.pem": str(self.ca),
                "/etc/letsencrypt/live/cloud.example.com/privkey.pem": str(self.folder / "key.pem"),
                "listen 443 ssl": f"listen 127.0.0.1:{self.tls} ssl",
                "listen 80;": f"listen 127.0.0.1:{self.plain};",
                "server 127.0.0.1:8000;": f"server 127.0.0.1:{self.web};",
                "server 127.0.0.1:8001;": f"server 127.0.0.1:{self.stream};",
            },
        )
        (self.folder / "site.conf").write_text(site)
        (self.folder / "nginx.conf").write_text(NGINX.format(folder=self.folder))
        command = [nginx(), "-c", str(self.folder / "nginx.conf"), "-p", str(self.folder), "-e", "stderr"]
        checked = subprocess.run([*command, "-t"], capture_output=True, text=True)
        assert checked.returncode == 0, checked.stderr
        assert "[warn]" not in checked.stderr
        self._start([*command, "-g", "daemon off;"])

    def type_readme(self) -> None:
        """Type the blocks of *For real*, one after the other, into one shell."""
        blocks = blocks_for(__file__)
        assert len(blocks) == 3
        typed = replaced(
            "\n".join(blocks),
            {
                # an environment to be made anew is shown alone: here all has production's packages, and no others
                "make install ": f"make --dry-run VENV={self.folder}/venv install ",
                "SITE_URL=https://cloud.example.com": f"SITE_URL={self.url}",
                "--port 8001": f"--port {self.stream}",
                "STATE_DIR=/var/lib/skerry": f"STATE_DIR={self.env['STATE_DIR']}",
                "SECRET_KEY=…": f"SECRET_KEY={KEY}",
                "ENCRYPTION_KEYS=…": f"ENCRYPTION_KEYS={KEY[::-1]}",
                "postgres://user:password@host/name": f"'{self.env['DATABASE_URL']}'",
                "redis://:password@host:6379/0": f"'{self.env['REDIS_URL']}'",
                "smtp+tls://user:password@mail.example.com:587": f"file://{self.mails}",
                "\ncurl ": f"\n{WAIT.format(port=self.web)}\ncurl ",
            },
        )
        (self.folder / ".curlrc").write_text(f'cacert = "{self.ca}"\nresolve = "{NAME}:{self.tls}:127.0.0.1"\n')
        given = only(PRODUCTION, self.env) | {"GRANIAN_PORT": str(self.web), "CURL_HOME": str(self.folder)}
        self._start(["bash", "-e", "-c", f"{typed}\necho T=$T ACCOUNT=$ACCOUNT\nwait"], env=given)

    def output(self) -> str:
        return (self.folder / "typed").read_text()

    def wait_for_output(self, pattern: str) -> str:
        wait_for(lambda: re.search(pattern, self.output()) or self._ended())
        found = re.search(pattern, self.output())
        assert found, self.output()
        return found[1]

    def _ended(self) -> bool:
        return any(process.poll() is not None for process in self.processes)

    def _start(self, command: list[str], env: dict[str, str] | None = None) -> None:
        self.processes.append(
            subprocess.Popen(
                command, cwd=ROOT, env=env, start_new_session=True, stdin=subprocess.DEVNULL,
                stdout=self.typed, stderr=self.typed,
            )
        )  # fmt: skip

    def browser(self) -> requests.Session:
        session = requests.Session()
        session.verify, session.trust_env = (
            str(self.ca),
            False,
        )  # no other certificates, whatever the environment has
        return session

    def post_form(self, browser: requests.Session, address: str, to: str = "", **fields: str) -> requests.Response:
        """Load a page and send its form as a browser does. `to` is the form's address, if it is not the page's."""
        page = browser.get(address)
        assert page.status_code == 200, page.text
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
        assert token, page.text
        headers = {"Origin": self.url, "Referer": page.url}
        return browser.post(
            to or page.url, {"csrfmiddlewaretoken": token[1], **fields}, headers=headers, allow_redirects=False
        )

    def stop(self) -> None:
        for process in self.processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            finally:
                process.wait()


WAIT = "while ! curl -sSf -o /dev/null http://127.0.0.1:{port}/v4/regions 2>/dev/null; do sleep 0.2; done"
"""Wait for the processes to answer. A person who types the last line by hand takes longer than that."""


@pytest.fixture
def installation(transactional_db, process_env, tmp_path) -> Iterator[Installation]:
    nginx()
    ours = re.findall(r'env\.\w+\(\s*"([A-Z_0-9]+)"', (ROOT / "config" / "settings.py").read_text())
    env = {name: value for name, value in process_env.items() if name not in ours}
    env |= {"DATABASE_URL": process_env["DATABASE_URL"], "STATE_DIR": str(tmp_path / "state")}
    with services(tmp_path, valkey=True):
        env["REDIS_URL"] = addresses.redis_url(tmp_path)
        installation = Installation(tmp_path, env)
        try:
            yield installation
        finally:
            installation.stop()
            sys.stdout.write(installation.output()[-20_000:])


@pytest.fixture
def dns(monkeypatch, installation):
    """Resolve the name to this machine. The client has an address of its own."""
    connect = urllib3.util.connection.create_connection

    def to_this_machine(address, *args, **kwargs):
        kwargs["source_address"] = (CLIENT, 0)
        return connect(("127.0.0.1", address[1]), *args, **kwargs)

    monkeypatch.setattr(urllib3.util.connection, "create_connection", to_this_machine)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def link_mailed_to(installation: Installation, username: str) -> str:
    """Return the address in the invitation, after a worker has sent it."""

    def invitation() -> str | None:
        for path in sorted(installation.mails.glob("*.log")) if installation.mails.exists() else ():
            for part in path.read_text().split("-" * 79):
                mail = email.message_from_string(part.strip(), policy=email.policy.default)
                body = mail.get_body(("plain",)) if mail["Subject"] else None
                if body is not None and f"Hello {username}," in body.get_content():
                    return body.get_content()
        return None

    wait_for(invitation)
    [link] = re.findall(r"https?://\S+", invitation() or "")
    return link


def test_the_commands_of_the_readme_work_behind_tls(installation: Installation, dns):
    installation.start_nginx()
    wait_for(lambda: listens(installation.tls))
    installation.type_readme()
    token = installation.wait_for_output(r"T=([0-9a-f]{64}) ACCOUNT=\d+")

    assert "install.py requirements.lock\n" in installation.output()
    assert "requirements-" not in installation.output()

    # nothing was missing, so there is no message
    assert "skerry.W" not in installation.output()
    assert '"company":"Example"' in installation.output().replace('": "', '":"')

    link = link_mailed_to(installation, "first-user")
    assert link.startswith(f"{installation.url}/password/")
    browser = installation.browser()
    chosen = installation.post_form(browser, link, new_password1=PASSWORD, new_password2=PASSWORD)
    assert chosen.status_code == 302, chosen.text

    browser = installation.browser()
    entered = installation.post_form(browser, f"{installation.url}/login", username="first-user", password=PASSWORD)
    assert (entered.status_code, entered.headers["Location"]) == (302, "/home"), entered.text
    assert all(cookie.secure for cookie in browser.cookies)
    assert "first-user" in browser.get(f"{installation.url}/home").text

    # the address that nginx saw counts, whatever a client claims
    browser.headers["X-Forwarded-For"] = "203.0.113.9"
    installation.post_form(browser, f"{installation.url}/password/forgotten", name="nobody")
    api = installation.browser()
    api.headers.update({"Authorization": f"Bearer {token}", "X-Forwarded-For": "203.0.113.9"})
    assert api.get(f"{installation.url}/v4/account").json()["company"] == "Example"
    assert {login.ip for login in Login.objects.all()} == {CLIENT}

    # headers of 64 KB pass, chunked bodies arrive whole, and http redirects to https
    long_filter = f'{{"label": "{"x" * 60_000}"}}'
    found = api.get(f"{installation.url}/v4/images", headers={"X-Filter": long_filter})
    assert (found.status_code, found.json()["results"]) == (200, 0), found.text
    # the web process would take the body for an empty one
    accented = '{"label": "café"}'.encode()
    refused = api.get(f"{installation.url}/v4/images", headers={"X-Filter": accented})
    assert (refused.status_code, refused.headers["Content-Type"]) == (400, "application/json"), refused.text
    assert refused.json()["errors"][0]["field"] == "X-Filter"
    everything = api.get(f"{installation.url}/v4/images", headers={"X-Filter": ""}).json()
    assert everything["results"] > 0
    json_ = {"Content-Type": "application/json"}
    in_chunks = api.post(
        f"{installation.url}/v4/profile/tokens", data=iter([b'{"label": ', b'"chunked"}']), headers=json_
    )
    assert (in_chunks.status_code, in_chunks.json()["label"]) == (200, "chunked"), in_chunks.text
    moved = installation.browser().get(f"http://{NAME}:{installation.plain}/login", allow_redirects=False)
    assert (moved.status_code, moved.headers["Location"]) == (301, f"https://{NAME}/login")

    # the staff user of the block gets into the admin, once a second factor is set up
    staff = installation.browser()
    link = link_mailed_to(installation, "admin-1")
    installation.post_form(staff, link, new_password1=PASSWORD, new_password2=PASSWORD)
    staff = installation.browser()
    installation.post_form(staff, f"{installation.url}/login", username="admin-1", password=PASSWORD)
    page = f"{installation.url}/home/second-factor"
    assert staff.get(f"{installation.url}/admin/").url == page
    installation.post_form(staff, page, to=f"{page}/begin")
    [secret] = re.findall(r'<code id="secret">([A-Z2-7]+)</code>', staff.get(page).text)
    assert "scratch code" in installation.post_form(staff, page, code=pyotp.TOTP(secret).now()).text
    assert "Needs attention" in staff.get(f"{installation.url}/admin/").text
    assert User.objects.get(username="admin-1").is_superuser
    assert {event.action for event in Event.objects.all()} >= {"user_create", "token_create"}


def test_a_form_from_an_unknown_address_names_the_setting(installation: Installation, dns):
    """SITE_URL differs from the address that the browser requests, and the proxy is not counted."""
    installation.start_nginx()
    wait_for(lambda: listens(installation.tls))
    given = {"SITE_URL": "https://elsewhere.example.com", "PRODUCTION": "1", "REHEARSAL": "1", "SECRET_KEY": KEY}
    installation._start(
        [
            str(ROOT / ".venv/bin/granian"), "--interface", "rsgi", "--port", str(installation.web),
            "config.rsgi:application",
        ],
        env=installation.env | given,
    )  # fmt: skip
    wait_for(lambda: listens(installation.web))
    answer = installation.post_form(
        installation.browser(), f"{installation.url}/login", username="nobody", password=PASSWORD
    )
    assert answer.status_code == 403
    for name in ("SITE_URL", "NUM_PROXIES", "CSRF_TRUSTED_ORIGINS"):
        assert name in answer.text
    assert "elsewhere" not in answer.text
    wait_for(lambda: "was refused" in installation.output())
    refusal = next(line for line in installation.output().splitlines() if "was refused: expected" in line)
    assert installation.url in refusal
    assert f"http://{NAME}:{installation.tls} or https://elsewhere.example.com" in refusal
