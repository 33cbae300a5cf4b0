"""Verification of a phone number, and the delivery of the messages."""

import itertools
import json
import re
import threading
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pytest
import requests
from django.utils.timezone import now

from accounts import sms
from accounts.models import Event, Message, PhoneVerification
from accounts.services import outbox, phone
from config.encryption import decrypt_json
from config.limits import rates
from tests.client import errors

SEND, VERIFY = "/v4/profile/phone-number", "/v4/profile/phone-number/verify"
NUMBER = {"iso_code": "NO", "phone_number": "406 12 345"}


@pytest.fixture(autouse=True)
def _codes(monkeypatch):
    """Make all codes different, and unlike any other text."""
    numbers = itertools.count(271_828, 141_421)
    monkeypatch.setattr(phone, "secrets", SimpleNamespace(randbelow=lambda below: next(numbers)))


def sent() -> list[tuple[str, str]]:
    """Return the numbers and codes of the messages to be sent."""
    return [
        (each.recipient, re.findall(r"\d{6}", decrypt_json(each.encrypted)["text"])[0])
        for each in Message.objects.all()
    ]


def test_a_number_is_verified_by_the_code_that_was_sent_to_it(api):
    assert api.post(SEND, NUMBER).json() == {}
    [(number, code)] = sent()
    assert number == "+4740612345"
    assert api.get("/v4/profile").json()["verified_phone_number"] is None
    assert api.post(VERIFY, {"otp_code": code}).json() == {}
    assert api.get("/v4/profile").json()["verified_phone_number"] == "+4740612345"
    assert api.post(VERIFY, {"otp_code": code}).status_code == 400, "it is used up"
    assert Event.objects.get().action == "profile_update"


def test_the_same_code_is_sent_again_while_it_is_valid(api):
    api.post(SEND, NUMBER)
    api.post(SEND, NUMBER)
    assert len(set(sent())) == 1
    PhoneVerification.objects.update(expiry=now() - timedelta(seconds=1))
    api.post(SEND, NUMBER)
    assert len(set(sent())) == 2


@pytest.mark.parametrize(
    ("left", "duration"),
    [(600, "10 minutes"), (599, "9 minutes"), (130, "2 minutes"), (119, "119 seconds"), (20, "20 seconds")],
)
def test_each_message_says_how_long_its_code_is_still_valid(api, monkeypatch, left, duration):
    api.post(SEND, NUMBER)
    at = now() + timedelta(hours=1)
    PhoneVerification.objects.update(expiry=at + timedelta(seconds=left))
    monkeypatch.setattr(phone, "now", lambda: at)
    api.post(SEND, NUMBER)
    first, again = (decrypt_json(each.encrypted)["text"] for each in Message.objects.order_by("pk"))
    assert first.endswith("It is valid for 10 minutes.")
    assert again.endswith(f"It is valid for {duration}.")
    assert first[:6] == again[:6]


def test_another_number_gets_another_code(api):
    api.post(SEND, NUMBER)
    api.post(SEND, {"iso_code": "DE", "phone_number": "0151 23456789"})
    [(_, first), (number, second)] = sent()
    assert number == "+4915123456789"
    assert api.post(VERIFY, {"otp_code": first}).status_code == 400
    assert api.post(VERIFY, {"otp_code": second}).status_code == 200
    assert api.get("/v4/profile").json()["verified_phone_number"] == number


def test_a_code_that_is_too_old_verifies_nothing(api):
    api.post(SEND, NUMBER)
    PhoneVerification.objects.update(expiry=now() - timedelta(seconds=1))
    assert [each["field"] for each in api.post(VERIFY, {"otp_code": sent()[0][1]}).json()["errors"]] == ["otp_code"]


def test_another_users_code_verifies_nothing(api, client_for, restricted):
    api.post(SEND, NUMBER)
    assert client_for(restricted).post(VERIFY, {"otp_code": sent()[0][1]}).status_code == 400


def test_guesses_are_limited(api):
    api.post(SEND, NUMBER)
    code = sent()[0][1]
    for _ in range(5):
        assert api.post(VERIFY, {"otp_code": "000000"}).status_code == 400
    answer = api.post(VERIFY, {"otp_code": code})
    assert errors(answer, 429) == {None: "Too many requests"}
    assert 0 < int(answer["Retry-After"]) <= 600
    assert api.get("/v4/profile").json()["verified_phone_number"] is None


def test_after_too_many_guesses_another_code_can_be_sent(api):
    api.post(SEND, NUMBER)
    for _ in range(6):
        api.post(VERIFY, {"otp_code": "000000"})
    api.post(SEND, NUMBER)
    (_, first), (_, second) = sent()
    assert first != second
    assert api.post(VERIFY, {"otp_code": second}).status_code == 200


def test_messages_are_limited(api, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "sms": "2/3600"}
    rates.forget()
    answers = [api.post(SEND, NUMBER) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert errors(answers[-1], 429) == {None: "Too many requests"}
    assert 0 < int(answers[-1]["Retry-After"]) <= 3600
    assert len(sent()) == 2
    rates.forget()


def test_a_verified_number_has_to_go_before_another_comes(api):
    api.post(SEND, NUMBER)
    api.post(VERIFY, {"otp_code": sent()[0][1]})
    assert api.post(SEND, NUMBER).status_code == 400
    assert api.delete(SEND).json() == {}
    assert api.get("/v4/profile").json()["verified_phone_number"] is None
    assert api.post(SEND, NUMBER).status_code == 200


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["iso_code", "phone_number"]),
        ({"iso_code": "NORWAY", "phone_number": 40612345}, ["iso_code", "phone_number"]),
        ({"iso_code": "XX", "phone_number": 40612345}, ["phone_number", "iso_code"]),
        ({"iso_code": "XX", "phone_number": "40612345"}, ["iso_code"]),
        ({"iso_code": "NO", "phone_number": "12"}, ["phone_number"]),
        ({"iso_code": "NO", "phone_number": "not a number"}, ["phone_number"]),
        ({"iso_code": "NO", "phone_number": "+4915123456789"}, ["phone_number"]),
    ],
    ids=str,
)
def test_numbers_are_checked_against_their_country(api, body, fields):
    answer = api.post(SEND, body)
    assert [each["field"] for each in answer.json()["errors"]] == fields
    assert not Message.objects.exists()


def test_where_there_is_no_number_nothing_is_given_up(api):
    assert api.delete(SEND).json() == {}
    assert not Event.objects.exists()


def test_without_a_gateway_nobody_waits_for_a_message(api, settings):
    settings.SMS_GATEWAY = "accounts.sms.none"
    answer = api.post(SEND, NUMBER)
    assert list(errors(answer)) == ["phone_number"]
    assert not Message.objects.exists()
    assert not PhoneVerification.objects.exists()


def test_no_code_is_kept_readable(api):
    api.post(SEND, NUMBER)
    code = sent()[0][1]
    rows = [*Message.objects.values(), *PhoneVerification.objects.values()]
    assert not any(
        code.encode() in bytes(value) for row in rows for value in row.values() if isinstance(value, bytes)
    )
    assert code not in str(
        # times have six digits after the decimal point
        [{key: value for key, value in row.items() if not isinstance(value, bytes | datetime)} for row in rows]
    )


class Gateway(BaseHTTPRequestHandler):
    """A gateway that stores its requests, and answers as the test sets."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, dict(self.headers), body.decode()))  # type: ignore[attr-defined]
        self.send_response(self.server.status)  # type: ignore[attr-defined]
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args) -> None:
        pass


@pytest.fixture
def gateway(settings):
    server = HTTPServer(("127.0.0.1", 0), Gateway)
    server.got, server.status = [], 200
    threading.Thread(target=server.serve_forever, daemon=True).start()
    settings.SMS_GATEWAY = "accounts.sms.http"
    settings.SMS_HTTP_URL = f"http://127.0.0.1:{server.server_port}/send?to={{number}}"
    settings.SMS_HTTP_HEADERS = {"X-Key": "k"}
    yield server
    server.shutdown()
    server.server_close()


def test_the_request_to_the_gateway_follows_the_settings(gateway):
    sms.http("+4740612345", 'say "hi" & æ\n')
    [(path, headers, body)] = gateway.got
    assert path == "/send?to=%2B4740612345"
    assert (headers["X-Key"], headers["Content-Type"]) == ("k", "application/json")
    assert json.loads(body) == {"to": "+4740612345", "text": 'say "hi" & æ\n'}


def test_a_form_is_encoded_as_one(gateway, settings):
    settings.SMS_HTTP_TYPE = "application/x-www-form-urlencoded"
    settings.SMS_HTTP_BODY = "to={number}&text={text}"
    sms.http("+47406", "a&b=c")
    assert gateway.got[0][2] == "to=%2B47406&text=a%26b%3Dc"


def test_a_message_goes_out_once_and_is_forgotten(api, gateway):
    api.post(SEND, NUMBER)
    assert outbox.send_due() == 1
    assert not Message.objects.exists()
    assert outbox.send_due() == 0
    assert len(gateway.got) == 1


def test_a_message_that_fails_is_tried_again_and_at_last_given_up(api, gateway, settings):
    settings.MESSAGE_ATTEMPTS = 2
    gateway.status = 500
    api.post(SEND, NUMBER)
    begun = now()
    assert outbox.send_due() == 0
    message = Message.objects.get()
    assert (message.attempt, message.given_up) == (1, False)
    assert "500" in message.error
    assert message.run_at >= begun + timedelta(seconds=5), "not due again so soon"
    Message.objects.update(run_at=now() + timedelta(hours=1))
    assert outbox.send_due() == 0
    assert len(gateway.got) == 1
    Message.objects.update(run_at=now())
    outbox.send_due()
    assert Message.objects.get().given_up
    Message.objects.update(run_at=now())
    gateway.status = 200
    assert outbox.send_due() == 0


def test_a_gateway_that_is_not_there_is_an_error(settings):
    settings.SMS_HTTP_URL = "http://127.0.0.1:9/"
    with pytest.raises(requests.ConnectionError):
        sms.http("+47406", "hi")
