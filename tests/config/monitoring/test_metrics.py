"""Metrics for Prometheus, and access to them."""

import pytest
import redis
from django.db import OperationalError
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import resolve
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_open
from prometheus_client.parser import text_string_to_metric_families as read

from config.monitoring import counts, exposition, requests
from config.monitoring.counts import METRICS, Counts

TOKEN = "metrics-are-mine"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def stored(settings, monkeypatch) -> dict:
    """The counts in Redis, by machine."""
    settings.METRICS_TOKEN = TOKEN
    found: dict = {}
    monkeypatch.setattr(counts, "counts", Counts())
    monkeypatch.setattr(counts, "stored", lambda: iter(found.items()))
    return found


def metrics(client, **headers) -> dict:
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}", **headers})
    assert answer.status_code == 200
    parse = read_open if "openmetrics" in answer["Content-Type"] else read
    return {family.name: family for family in parse(answer.content.decode())}


def value(families, name, sample="", **labels) -> float:
    [found] = [
        each.value for each in families[name].samples
        if each.name == (sample or name) and labels.items() <= each.labels.items()
    ]  # fmt: skip
    return found


@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer wrong", "Basic metrics-are-mine", f"Bearer {TOKEN}x", "Bearer é"]
)
def test_nobody_reads_them_without_the_token(client, given):
    answer = client.get("/metrics", headers={"Authorization": given})
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == "Bearer"
    assert b"skerry" not in answer.content


def test_there_are_none_where_no_token_is_set(client, settings):
    settings.METRICS_TOKEN = ""
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 404


@pytest.mark.parametrize("accept", ["text/plain", "application/openmetrics-text; version=1.0.0", "*/*"])
def test_both_formats_are_right(client, stored, accept):
    stored["one"] = {("skerry_requests", "GET", "/v4/regions", "200"): 3.0}
    found = metrics(client, Accept=accept)
    assert value(found, "skerry_requests", "skerry_requests_total", machine="one", route="/v4/regions") == 3
    assert value(found, "skerry_redis_up") == value(found, "skerry_database_up") == 1


def test_durations_add_up_to_the_number_of_all(client, stored):
    name = "skerry_request_seconds"
    stored["one"] = {
        (name, "GET", "/x", "0"): 2.0, (name, "GET", "/x", "3"): 1.0, (name, "GET", "/x", "15"): 1.0,
        (name, "GET", "/x", "sum"): 7.5,
    }  # fmt: skip
    found = metrics(client)
    assert value(found, name, f"{name}_count", machine="one") == 4
    assert value(found, name, f"{name}_sum", machine="one") == 7.5
    assert value(found, name, f"{name}_bucket", le="0.005") == value(found, name, f"{name}_bucket", le="0.025") == 2
    assert value(found, name, f"{name}_bucket", le="0.05") == value(found, name, f"{name}_bucket", le="1800.0") == 3
    assert value(found, name, f"{name}_bucket", le="+Inf") == 4


def test_metrics_of_another_release_are_left_out(client, stored):
    stored["one"] = {
        ("skerry_doors", "red"): 1.0,
        ("skerry_requests", "GET"): 1.0,
        ("skerry_request_seconds", "0"): 1.0,
    }
    found = metrics(client)
    assert "skerry_doors" not in found
    assert found["skerry_requests"].samples == found["skerry_request_seconds"].samples == []


def test_gauges_are_answered_without_redis(client, monkeypatch):
    def gone():
        raise redis.ConnectionError("gone")

    monkeypatch.setattr(counts, "stored", gone)
    found = metrics(client)
    assert value(found, "skerry_redis_up") == 0
    assert "skerry_processes" in found


def test_counts_are_answered_without_the_database(client, stored, monkeypatch):
    def gone():
        raise OperationalError("gone")

    stored["one"] = {("skerry_sweeps",): 3.0}
    monkeypatch.setattr(exposition, "all_measures", lambda: [gone])
    monkeypatch.setattr(exposition.connection, "close", lambda: None)
    found = metrics(client)
    assert value(found, "skerry_database_up") == 0
    assert value(found, "skerry_sweeps", "skerry_sweeps_total", machine="one") == 3


def test_a_look_costs_a_number_of_queries_that_does_not_grow(client, django_assert_max_num_queries):
    metrics(client)
    with django_assert_max_num_queries(16):
        metrics(client)


def counted(path: str, method: str = "GET", known: bool = True) -> tuple[str, ...]:
    request = RequestFactory().generic(method, path)
    if known:
        request.resolver_match = resolve(path)
    requests.count(request, HttpResponse(status=200), 0.1)
    [key] = [key for key in counts.counts.take() if key[0] == "skerry_requests"]
    return key[1:]


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/v4/regions/us-east", "/v4/regions/{id}"),
        ("/v4beta/regions/us-east", "/v4/regions/{id}"),
        ("/v4", "/v4"),
        ("/v4beta", "/v4"),
        ("/v4/nothing/there", "unknown"),
        ("/admin/compute/instance/7/change/", "/admin/compute/instance/{object_id}/change/"),
    ],
)
def test_requests_are_counted_by_their_routes(path, route):
    assert counted(path) == ("GET", route, "200")


def test_paths_and_methods_that_anybody_makes_up_make_no_series():
    assert counted("/static/x.css", known=False) == ("GET", "/static", "200")
    assert counted("/wp-login.php", known=False) == ("GET", "unknown", "200")
    assert counted("/v4", method="BREW") == ("unknown", "/v4", "200")


@pytest.mark.parametrize("status", [401, 405])
def test_strangers_make_no_series_of_every_method_on_every_route(status):
    request = RequestFactory().patch("/v4/regions")
    request.resolver_match = resolve("/v4/regions")
    requests.count(request, HttpResponse(status=status), 0.1)
    assert {key[1] for key in counts.counts.take()} == {"unknown"}


def test_every_request_is_counted_by_the_process_that_answers_it(client):
    client.get("/version")
    client.get("/nowhere")
    found = {key[1:]: number for key, number in counts.counts.take().items() if key[0] == "skerry_requests"}
    assert found == {("GET", "/version", "200"): 1.0, ("GET", "unknown", "404"): 1.0}


def test_looks_of_watchers_leave_no_line(client, caplog):
    caplog.set_level("INFO", "access")
    metrics(client)
    for path in ("/livez", "/readyz", "/healthz"):
        client.get(path)
    assert not caplog.records
    client.get("/metrics")
    assert len(caplog.records) == 1


def test_each_metric_has_a_description():
    for metric in METRICS.values():
        assert metric.documentation.endswith(".")
