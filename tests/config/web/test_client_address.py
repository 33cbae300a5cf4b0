"""The client's address, and the message if NUM_PROXIES does not fit the proxies in front."""

import pytest
from django.test import RequestFactory

from config.web import client_address
from config.web.client_address import address_of


@pytest.fixture(autouse=True)
def new_process(monkeypatch):
    monkeypatch.setattr(client_address, "_reported", set())


@pytest.fixture
def proxies(settings):
    def stand(number: int) -> None:
        settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "NUM_PROXIES": number}

    return stand


def asked(peer: str, forwarded: str | None = None) -> str:
    headers = {} if forwarded is None else {"HTTP_X_FORWARDED_FOR": forwarded}
    return address_of(RequestFactory().get("/", REMOTE_ADDR=peer, **headers))


def warnings(caplog) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == client_address.__name__]


@pytest.mark.parametrize(
    ("number", "peer", "forwarded"),
    [
        (0, "127.0.0.1", None),
        (0, "8.8.8.8", "192.0.2.9"),
        (0, "::ffff:8.8.8.8", "192.0.2.9"),
        (1, "10.0.0.2", None),
        (1, "10.0.0.2", "192.0.2.9"),
        (2, "10.0.0.2", "192.0.2.9, 10.0.0.3"),
    ],
)
def test_matching_numbers_cause_no_warning(proxies, caplog, number, peer, forwarded):
    proxies(number)
    asked(peer, forwarded)
    assert warnings(caplog) == []


def test_a_proxy_that_is_not_counted_is_logged_once(proxies, caplog):
    proxies(0)
    for _ in range(3):
        assert asked("10.0.0.2", "192.0.2.9") == "10.0.0.2"
    (warning,) = warnings(caplog)
    assert warning.startswith("NUM_PROXIES is 0, but X-Forwarded-For came from 10.0.0.2 with 1 address")


@pytest.mark.parametrize(
    ("number", "forwarded", "sentence"),
    [
        (2, "192.0.2.9", "NUM_PROXIES is 2, but X-Forwarded-For came from 10.0.0.2 with 1 address"),
        (1, "192.0.2.9, 10.0.0.3", "NUM_PROXIES is 1, but X-Forwarded-For came from 10.0.0.2 with 2 address"),
    ],
    ids=["fewer", "more"],
)
def test_another_number_is_logged_once(proxies, caplog, number, forwarded, sentence):
    proxies(number)
    asked("10.0.0.2", forwarded)
    asked("10.0.0.2", forwarded)
    (warning,) = warnings(caplog)
    assert warning.startswith(sentence)


def test_a_header_that_a_client_wrote_hides_no_missing_proxy(proxies, caplog):
    proxies(2)
    asked("10.0.0.2", "192.0.2.9, 192.0.2.9, 10.0.0.3")
    asked("10.0.0.2", "192.0.2.9")
    assert len(warnings(caplog)) == 2
