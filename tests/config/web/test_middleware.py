import json
import logging
import logging.config

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from accounts.actors import Actor
from config.processes.logging import AddId, configuration, current_id
from config.web.middleware import normalize_api_paths, request_id

rf = RequestFactory()


def seen_path(path):
    def respond(request):
        assert request.path == request.path_info
        return HttpResponse(request.path)

    return normalize_api_paths(respond)(rf.get(path)).content.decode()


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("/v4/regions", "/v4/regions"),
        ("/v4/regions/", "/v4/regions"),
        ("/v4//regions///us-east//", "/v4/regions/us-east"),
        ("//v4/regions", "/v4/regions"),
        ("/v4beta/regions/", "/v4beta/regions"),
        ("/v4/", "/v4"),
        ("/v45/regions/", "/v45/regions/"),
        ("/admin/", "/admin/"),
        ("/admin//x/", "/admin//x/"),
        ("/", "/"),
    ],
)
def test_only_paths_of_the_api_are_normalized(path, normal):
    # two leading slashes would be a host for the request factory
    assert seen_path(path if not path.startswith("//") else f"http://testserver{path}") == normal


def test_each_answer_has_an_id_of_its_own():
    ids = {request_id(lambda request: HttpResponse())(rf.get("/"))["X-Request-ID"] for _ in range(3)}
    assert len(ids) == 3


def test_the_clients_id_is_kept_and_known_inside():
    answer = request_id(lambda request: HttpResponse(current_id.get()))(
        rf.get("/", headers={"X-Request-ID": "build-7.2"})
    )
    assert answer.content == b"build-7.2"
    assert answer["X-Request-ID"] == "build-7.2"


@pytest.mark.parametrize("given", ["", "two words", "x" * 65, 'quo"te', "é"])
def test_a_clients_id_that_could_garble_logs_is_replaced(given):
    answer = request_id(lambda request: HttpResponse())(rf.get("/", headers={"X-Request-ID": given}))
    assert len(answer["X-Request-ID"]) == 32


def test_the_access_log_holds_no_secret(caplog):
    caplog.set_level(logging.INFO, "access")
    request = rf.post(
        "/v4/x?code=hunter2",
        {"root_pass": "hunter2"},
        headers={"Authorization": "Bearer hunter2"},
    )
    request.caller = Actor(7, 12, "owner")  # type: ignore[attr-defined]
    request_id(lambda request: HttpResponse(status=201))(request)
    [record] = caplog.records
    assert record.getMessage().startswith("POST /v4/x 201 ")
    assert record.getMessage().endswith(" ms owner")
    assert "hunter2" not in json.dumps(record.__dict__, default=str)


@pytest.mark.parametrize(
    "path",
    [
        "/password/MQ/c1-hunter2", "/token/hunter2", "/password/MQ/x/hunter2", "/uploads/images/hunter2",
        "/password//MQ//c1-hunter2", "/uploads//images//hunter2",
    ],
)  # fmt: skip
def test_the_access_log_holds_no_address_that_lets_somebody_in(caplog, path):
    caplog.set_level(logging.INFO, "access")
    request_id(lambda request: HttpResponse())(rf.get(path))
    assert path[:7] in caplog.records[0].getMessage()
    assert "hunter2" not in json.dumps(caplog.records[0].__dict__, default=str)


def test_a_path_cannot_forge_a_log_line(caplog):
    caplog.set_level(logging.INFO, "access")
    request_id(lambda request: HttpResponse())(rf.get("/v4/x%0a12:00:00 forged"))
    assert "\n" not in caplog.records[0].getMessage()


def test_production_writes_the_access_line_as_the_formatter_would(capfd, settings):
    settings.PRODUCTION = True
    current_id.set("abc")
    request_id(lambda request: HttpResponse(status=201))(rf.get("/v4/x", headers={"X-Request-ID": "abc"}))
    line = json.loads(capfd.readouterr().err)
    assert line.pop("timestamp")
    assert line.pop("message").startswith("GET /v4/x 201 ")
    assert line.pop("duration_ms") >= 0
    assert line == {
        "level": "INFO",
        "logger": "access",
        "request_id": "abc",
        "method": "GET",
        "path": "/v4/x",
        "status": 201,
        "user": None,
        "user_id": None,
        "account_id": None,
    }


def test_production_logs_json():
    made = configuration(production=True, level="INFO")
    configurator = logging.config.DictConfigurator(made)
    formatter = configurator.configure_formatter(made["formatters"]["json"])
    record = logging.makeLogRecord(
        {"name": "access", "levelname": "INFO", "msg": "GET %s", "args": ("/v4",), "status": 200}
    )
    current_id.set("abc")
    AddId().filter(record)
    line = json.loads(formatter.format(record))
    assert line.pop("timestamp")
    assert line == {
        "level": "INFO",
        "logger": "access",
        "message": "GET /v4",
        "request_id": "abc",
        "status": 200,
    }
