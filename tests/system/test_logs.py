"""The logs of an installation have no secret, at any level.

All processes run, and the secrets that are sent and created are searched for in the logs afterwards.
"""

import re
from urllib.parse import urlsplit

import pytest
import requests

from accounts.models import User
from tests.certificates import certificate, new_key, pem
from tests.factories import token_of
from tests.system.conftest import Fleet, settled
from tests.waiting import wait_for
from tests.world import World

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system]

ROOT_PASS, DISK_PASS, REBUILD_PASS = "Kestrel-91-root-pass", "Kestrel-92-disk-pass", "Kestrel-93-rebuild-pass"
SCRIPT_WORD, CREDENTIAL = "Kestrel-94-script-word", "Kestrel-95-credential"
LOGIN, WRONG_LOGIN, WRONG_TOKEN, UNREADABLE = (
    "Kestrel-96-login", "Kestrel-97-wrong-login", "beef97" * 10 + "cafe", "Kestrel-98-no-json",
)  # fmt: skip
ANSWER = "Kestrel-99"
SCRIPT = '#!/bin/sh\n# <UDF name="word_password" label="Word" />\n'
REHEARSED = {"PRODUCTION": "1", "REHEARSAL": "1", "SECRET_KEY": "a-key-of-this-test-" * 4, "NUM_PROXIES": "0"}


@pytest.mark.parametrize("settings_of_it", [{}, REHEARSED], ids=["development", "production"])
def test_no_secret_is_in_any_log(fleet: Fleet, world: World, hypervisor, settings_of_it):
    user = User.objects.get(pk=world.actor.user_id)
    user.set_password(LOGIN)
    user.save(update_fields=["password"])
    token = token_of(user, "*")
    world.region.capabilities.append("NodeBalancers")
    world.region.save(update_fields=["capabilities"])
    # the jobs with passwords are those that fail: their errors must not show the passwords
    hypervisor.script("fail", call="create_disk", count=2)
    hypervisor.script("refuse", call="set_password")
    fleet.env |= {"LOG_LEVEL": "DEBUG", **settings_of_it}
    passwords = [urlsplit(fleet.env[name]).password for name in ("DATABASE_URL", "REDIS_URL")]
    fleet.web()
    fleet.worker()
    fleet.beat()
    site = f"http://127.0.0.1:{fleet.port}"
    known = {ROOT_PASS, DISK_PASS, REBUILD_PASS, SCRIPT_WORD, CREDENTIAL, ANSWER}
    known |= {LOGIN, WRONG_LOGIN, WRONG_TOKEN, UNREADABLE}
    known |= {token, *filter(None, [*passwords, settings_of_it.get("SECRET_KEY")])}

    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {token}"

    def send(method: str, path: str, status: int = 200, **body) -> dict:
        answer = session.request(method, f"{site}/v4/{path}", json=body, timeout=600)
        assert answer.status_code == status, answer.text
        return answer.json()

    script = send("POST", "compute/stackscripts", label="words", images=[world.image.pk], script=SCRIPT)
    made = send(
        "POST", "compute/instances", region=world.region.pk, type=world.type.pk, image=world.image.pk,
        root_pass=ROOT_PASS, stackscript_id=script["id"], stackscript_data={"word_password": SCRIPT_WORD},
    )  # fmt: skip
    wait_for(settled)
    instance = f"compute/instances/{made['id']}"
    send("POST", f"{instance}/shutdown")
    wait_for(settled)
    [disk, *_] = send("GET", f"{instance}/disks")["data"]
    send("POST", f"{instance}/disks/{disk['id']}/password", password=DISK_PASS)
    wait_for(settled)
    send("POST", f"{instance}/rebuild", image=world.image.pk, root_pass=REBUILD_PASS)
    wait_for(settled)
    known |= {send("POST", "profile/tokens", label="mine")["token"]}
    answers = [{"question_id": number, "response": f"{ANSWER} {number}"} for number in (1, 2, 3)]
    send("POST", "profile/security-questions", security_questions=answers)
    known |= {send("POST", "profile/tfa-enable")["secret"]}
    send("POST", "profile/tfa-enable-confirm", 400, tfa_code="000000")
    client = send("POST", "account/oauth-clients", label="app", redirect_uri="https://app.example.com/")
    known |= {client["secret"], send("POST", f"account/oauth-clients/{client['id']}/reset-secret")["secret"]}
    send("POST", "account/settings/managed-enable")
    send("POST", "managed/credentials", label="db", username="root", password=CREDENTIAL)
    key = new_key()
    known |= {line for line in pem(key).splitlines() if len(line) == 64}
    balancer = send("POST", "nodebalancers", region=world.region.pk)
    send(
        "POST", f"nodebalancers/{balancer['id']}/configs", port=443, protocol="https",
        ssl_cert=certificate(key, "www.example.com", "www.example.com"), ssl_key=pem(key),
    )  # fmt: skip

    # requests that a client should not send, and requests that are not understood
    wrong = {"Authorization": f"Bearer {WRONG_TOKEN}"}
    assert requests.get(f"{site}/v4/account", headers=wrong, timeout=600).status_code == 401
    broken = session.post(f"{site}/v4/profile/tokens", data=f'{{"label": "{UNREADABLE}', timeout=600)
    assert broken.status_code == 400
    assert session.get(f"{site}/v4/profile?access_token={token}", timeout=600).status_code == 200
    browser = requests.Session()
    for password in (WRONG_LOGIN, LOGIN):
        page = browser.get(f"{site}/login", timeout=600)
        [form] = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
        for cookie in browser.cookies:
            cookie.secure = False  # as browsers treat localhost
        browser.post(
            f"{site}/login", {"csrfmiddlewaretoken": form, "username": user.username, "password": password},
            headers={"Referer": f"{site}/login"}, timeout=600,
        )  # fmt: skip
    assert "sessionid" in browser.cookies, "the right password lets in"
    known |= {cookie.value for cookie in browser.cookies if cookie.value and len(cookie.value) > 20}

    log = (fleet.state / "fleet.log").read_text()
    assert {name for name in known if name in log} == set()
    # the log names the events and their objects
    for part in ("/v4/managed/credentials", "/login", made["label"], "provision", "job_id"):
        assert part in log, part
    assert [fault.hits > 0 for fault in hypervisor.faults()] == [True, True]
