"""A copy of the database, the broker and the logs gives no access.

Every secret that gives access is created once, through pages and the API. Then the test searches all stored
data for it.
"""

import base64
import logging
import re
import secrets
from collections.abc import Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pyotp
import pytest
import redis
from django.conf import settings as configured
from django.db import connection
from django.test import Client

from accounts.actors import Actor
from accounts.models import Message, SecondFactor, User
from accounts.pages.session_store import SessionStore
from accounts.services import outbox, token_links
from compute.models import Disk, Instance, Job
from config.encryption import decrypt_json
from config.processes import notify
from managed.models import KeyPair
from regions.models import Region
from tests.accounts.apps import App
from tests.certificates import certificate, new_key, pem
from tests.client import APIClient
from tests.compute.memory_driver import MemoryDriver
from tests.compute.run_jobs import work
from tests.factories import StackScriptFactory
from tests.world import World

OWN = ("", "access", "accounts", "compute", "config", "managed", "regions", "tags", "django", "celery")
"""Loggers that LOG_LEVEL=DEBUG enables, and more. Libraries that log tokens stay at WARNING
(config/processes/logging.py)."""
TABLES = """
SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables
 WHERE schemaname NOT IN ('pg_catalog', 'information_schema')
"""


class Canaries(dict[str, str]):
    """Secrets by their names."""

    def new(self, name: str, size: int = 12) -> str:
        """Add a secret as a person would choose it, with `size` random bytes."""
        return self.add(name, f"canary{secrets.token_hex(size)}")

    def add(self, name: str, secret: str) -> str:
        """Add a secret that the platform made."""
        assert len(secret) > 11, name
        assert name not in self
        self[name] = secret
        return secret

    def found_in(self, text: str) -> list[str]:
        """Return the names of the secrets in the text, plain or encoded in hexadecimal or base64."""
        folded = text.lower()
        return [
            name
            for name, secret in self.items()
            if secret.encode().hex() in folded or any(each in text for each in spellings(secret))
        ]


@cache
def spellings(secret: str) -> set[str]:
    """Return the secret and its base64 encodings, for each position in the encoded text."""
    found = {secret}
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for before in range(3):
            encoded = encode(b"." * before + secret.encode()).decode().rstrip("=")
            # the first and last characters also depend on their neighbours
            found.add(encoded[-(-before * 8 // 6) : -2])
    return found


def database() -> Iterator[str]:
    """Yield each row of each table as text, and each of its binary values decoded as text."""
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        for (table,) in cursor.fetchall():
            cursor.execute(f"SELECT row::text FROM {table} AS row")
            for (row,) in cursor.fetchall():
                yield f"{table}: {row}"
                for binary in re.findall(r"\\x((?:[0-9a-f]{2})+)", row):
                    yield f"{table}: {bytes.fromhex(binary).decode('latin-1')}"


def broker() -> Iterator[str]:
    """Yield each key of Redis with its value: limits, caches, tasks."""
    client = redis.Redis.from_url(configured.REDIS_URL, decode_responses=True, encoding_errors="replace")
    kinds = {
        "string": client.get, "hash": client.hgetall, "set": client.smembers,
        "list": lambda key: client.lrange(key, 0, -1), "zset": lambda key: client.zrange(key, 0, -1),
    }  # fmt: skip
    for key in client.scan_iter(count=1000):
        yield f"{key}: {kinds.get(client.type(key), str)(key)}"


def link_in_last_mail() -> str:
    """Return the link in the last mail. Its last part gives access."""
    text = decrypt_json(Message.objects.latest("pk").encrypted)["text"]
    return re.findall(r"(/password/\S+)", text)[0]


def people(kept: Canaries, user: User) -> APIClient:
    """Create passwords, sessions, tokens, second factors, answers, codes and links."""
    first = kept.new("password")
    user.set_password(first)
    user.save(update_fields=["password"])
    browser = Client()
    sign_in = {"username": user.username, "password": first, "remember": "on"}
    mistyped = {"username": kept.new("password in the name's place"), "password": kept.new("wrong password")}
    browser.post("/login", mistyped)
    assert browser.post("/login", sign_in)["Location"] == "/home"
    kept.add("session", browser.session.session_key)
    kept.add("remembered browser", browser.cookies["skerry_device"].value)
    kept.add("known browser", browser.cookies["skerry_known"].value.partition(".")[2])
    second = kept.new("new password")
    changed = {"password": first, "new_password1": second, "new_password2": second}
    assert browser.post("/home/password", changed)["Location"] == "/home/profile/sign-in"
    kept.add("session after a new password", browser.session.session_key)
    wanted = {"label": "ci", "expires": "never", "preset": "everything"}
    made = browser.post("/home/tokens/new", wanted)
    token = kept.add("token of the page", made.context["readable"])
    access = browser.post("/docs/token", {"access": "full", "back": "/docs"})
    kept.add("token of the reference", access.json()["token"])
    api = APIClient(token)
    kept.add("token of the API", api.post("/v4/profile/tokens", {"label": "x", "scopes": "*"}).json()["token"])
    for number, wrong in enumerate((kept.new("wrong token"), kept.new("wrong token in the address"))):
        assert APIClient(wrong if number else None).get(f"/v4/profile?access_token={wrong}").status_code == 401

    _, address = token_links.make_link(Actor(user.account_id or 0, username="staff"), user, "handed over")
    key = kept.add("key of a link to a token", address.rpartition("/")[2])
    handed = Client().post(f"/token/{key}")
    kept.add("token of a link", handed.context["readable"])
    helpdesk = Client()
    helpdesk.force_login(User.objects.create_superuser("helpdesk", "desk@example.com"))
    wish = {"confirmed": "yes", "label": "waits", "scopes": "*", "reason": "asked on the phone"}
    page = helpdesk.post(f"/admin/accounts/user/{user.pk}/do/hand-over-token/", wish)
    unused = kept.add("key of a link that is not used", page.context["once"].shown.rpartition("/")[2])
    assert Client().get(f"/token/{unused}").status_code == 200

    answers = [{"question_id": n, "response": kept.new(f"answer {n}", 5)} for n in (1, 2, 3)]
    assert api.post("/v4/profile/security-questions", {"security_questions": answers}).status_code == 200
    secret = kept.add("second factor", api.post("/v4/profile/tfa-enable").json()["secret"])
    confirmed = api.post("/v4/profile/tfa-enable-confirm", {"tfa_code": pyotp.TOTP(secret).now()})
    kept.add("scratch code", confirmed.json()["scratch"])
    kept.add("second factor that is set up", api.post("/v4/profile/tfa-enable").json()["secret"])
    assert SecondFactor.objects.get().pending
    half = Client()
    assert half.post("/login", {"username": user.username, "password": second})["Location"] == "/login/code"
    kept.add("session that owes a code", half.session.session_key)
    assert half.post("/login/code", {"code": kept.new("wrong code")}).status_code == 200

    number = 83_615_372_901_553  # longer than any real code: six digits may be part of an id by chance
    with patch("accounts.services.phone.secrets.randbelow", return_value=number):
        sent = api.post("/v4/profile/phone-number", {"iso_code": "NO", "phone_number": "40612345"})
    assert sent.status_code == 200
    kept.add("code in a short message", str(number))
    for n in range(3):
        api.post("/v4/account/users", {"username": f"guest{n}", "email": f"guest{n}@example.com"})
        path = link_in_last_mail()
        kept.add(f"invitation {n}", path.rpartition("/")[2])
    guest = Client()
    assert guest.get(path, follow=True).status_code == 200  # its session has the token now
    kept.add("session of the invited", guest.session.session_key)
    Client().post("/password/forgotten", {"name": user.username})
    link = link_in_last_mail()
    kept.add("link for a forgotten password", link.rpartition("/")[2])
    opened = Client()
    page = opened.get(link, follow=True)
    chosen = kept.new("password chosen by mail")
    assert (
        opened.post(page.request["PATH_INFO"], {"new_password1": chosen, "new_password2": chosen}).status_code
        == 302
    )

    away = SessionStore()  # during a sign-in with a provider
    away["external"] = {name: kept.new(f"{name} of a sign-in elsewhere") for name in ("state", "nonce", "verifier")}
    away.save()
    kept.add("session on the way to a provider", away.session_key)
    return api


def apps(kept: Canaries, user: User, api: APIClient) -> None:
    """Create secrets of OAuth clients, codes, tokens, verifiers."""
    body = {"label": "Dashboard", "redirect_uri": "https://app.example/done"}
    made = api.post("/v4/account/oauth-clients", body).json()
    kept.add("client secret", made["secret"])
    reset = api.post(f"/v4/account/oauth-clients/{made['id']}/reset-secret")
    kept.add("client secret after a reset", reset.json()["secret"])
    web, spa = App(public=False), App(public=True)
    kept.add("secret of an app", str(web.secret))
    kept.add("code that is not used", web.code(user))
    code = kept.add("code that is used", web.code(user))
    given = web.exchange(code).json()
    kept.add("access token", given["access_token"])
    kept.add("refresh token", given["refresh_token"])
    fresh = web.refresh(given["refresh_token"]).json()
    kept.add("refreshed access token", fresh["access_token"])
    kept.add("refreshed refresh token", fresh["refresh_token"])
    web.exchange(kept.new("wrong code of an app"))
    web.post("/oauth/token", {"grant_type": "authorization_code", "client_secret": kept.new("wrong client secret")})
    kept.add("verifier", spa.verifier)
    kept.add("access token of a page", spa.tokens(user)["access_token"])


def machines(kept: Canaries, world: World, api: APIClient, driver: MemoryDriver) -> None:
    """Create root passwords, values of a script, upload addresses, keys of load balancers."""
    instances, body = "/v4/compute/instances", {"region": world.region.pk, "type": world.type.pk}
    script = StackScriptFactory(
        account=world.account, script="#!/bin/sh\n# <UDF name='db_password' label='It'/>\n", images=["any/all"]
    )
    first = api.post(instances, {
        **body, "image": world.image.pk, "root_pass": kept.new("root password"), "label": "deployed",
        "stackscript_id": script.pk, "stackscript_data": {"db_password": kept.new("what a script is given")},
    })  # fmt: skip
    deployed = Instance.objects.get(pk=first.json()["id"])
    work(deployed.jobs.get(), driver)
    api.post(f"{instances}/{deployed.pk}/rebuild", {
        "image": world.image.pk, "root_pass": kept.new("root password of a rebuild"), "booted": False,
        "stackscript_id": script.pk, "stackscript_data": {"db_password": kept.new("what it is given again")},
    })  # fmt: skip
    work(deployed.jobs.get(finished_at=None), driver)
    disk = Disk.objects.filter(instance=deployed, filesystem="ext4").latest("pk")
    reset = f"{instances}/{deployed.pk}/disks/{disk.pk}/password"
    assert api.post(reset, {"password": kept.new("root password of a disk")}).status_code == 200
    waits = {**body, "image": world.image.pk, "root_pass": kept.new("root password that waits"), "label": "waits"}
    assert api.post(instances, waits).status_code == 200

    upload = api.post("/v4/images/upload", {"label": "mine", "region": world.region.pk}).json()
    signed = kept.add("upload address", upload["upload_to"].rpartition("/")[2])
    Client().generic("PUT", f"/uploads/images/{signed}", b"no gzip", content_type="application/octet-stream")
    key = new_key()
    balancer = api.post("/v4/nodebalancers", {"region": world.region.pk}).json()
    tls = {"protocol": "https", "port": 443, "ssl_cert": certificate(key), "ssl_key": pem(key)}
    assert api.post(f"/v4/nodebalancers/{balancer['id']}/configs", tls).status_code == 200
    kept.add("key of a load balancer", pem(key).splitlines()[1])


def watched(kept: Canaries, world: World, api: APIClient) -> None:
    """Create credentials and the key pair of managed."""
    world.account.managed = True
    world.account.save(update_fields=["managed"])
    for n in (1, 2):
        secret = {"username": kept.new(f"username {n}"), "password": kept.new(f"password of a credential {n}")}
        made = api.post("/v4/managed/credentials", {"label": f"Shop {n}", **secret})
        assert made.status_code == 200
    changed = {"username": kept.new("changed username"), "password": kept.new("changed password of a credential")}
    assert api.post(f"/v4/managed/credentials/{made.json()['id']}/update", changed).status_code == 200
    api.get("/v4/managed/credentials/sshkey")
    pair = KeyPair.objects.get()
    kept.add("key of managed", decrypt_json(pair.encrypted)["private"].splitlines()[2])


@pytest.mark.django_db
def test_a_copy_of_the_database_the_broker_and_the_logs_opens_nothing(
    world, settings, tmp_path, monkeypatch, caplog, django_capture_on_commit_callbacks
):
    settings.UPLOADS_DIR, settings.JOB_BACKOFF = tmp_path, 0
    # as in production, with a gateway that does not answer: its errors must show no secret either
    settings.SMS_GATEWAY, settings.SMS_HTTP_URL = "accounts.sms.http", "http://127.0.0.1:9/send"
    Region.objects.update(capabilities=["Computes", "NodeBalancers"])
    for name in OWN:
        caplog.set_level(logging.DEBUG, name)
    tasks: list[Any] = []
    send_task = lambda *task, **more: tasks.append((task, more))  # noqa: E731
    monkeypatch.setattr(notify, "current_app", SimpleNamespace(send_task=send_task))
    kept, driver, user = Canaries(), MemoryDriver(), User.objects.get(pk=world.actor.user_id)
    with django_capture_on_commit_callbacks(execute=True):
        api = people(kept, user)
        apps(kept, User.objects.get(pk=user.pk), api)
        machines(kept, world, api, driver)
        watched(kept, world, api)
    assert len(kept) >= 50
    assert {task[0][0] for task in tasks} >= {"accounts.send_messages"}
    copies = {"database": list(database()), "broker": [*map(str, tasks), *broker()]}
    assert Job.objects.filter(finished_at=None).exists(), "else nothing waits with its secrets"
    assert outbox.send_due() > 3
    assert Message.objects.get().error, "the code could not be sent"
    logs = "\n".join(f"{each.getMessage()} {each.__dict__} {each.exc_text}" for each in caplog.records)
    copies |= {"logs": [logs], "database, afterwards": list(database())}
    found = {
        where: {(name, each[:120]) for each in texts for name in kept.found_in(each)}
        for where, texts in copies.items()
    }
    assert not any(found.values()), found


@pytest.mark.parametrize("hide", [str, lambda text: text.encode().hex().upper(), *(
    lambda text, n=n: base64.b64encode(b"x" * n + text.encode() + b"more").decode() for n in range(4)
)])  # fmt: skip
def test_a_canary_is_found_however_it_is_written(hide):
    kept = Canaries()
    secret = kept.new("one")
    kept.new("another")
    assert kept.found_in(f"before {hide(secret)} after") == ["one"]
