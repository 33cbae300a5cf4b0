"""A request, its job's steps and their calls of drivers are one trace while TRACING is on."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from accounts.models import User
from compute.drivers.base import Address
from compute.models import Host, Job
from compute.worker import drivers
from compute.worker.driver_spans import traced
from compute.worker.drivers import ConfiguredDrivers, address_of
from config.processes import tracing
from tests.compute.memory_driver import MemoryDriver, failing_at
from tests.compute.run_jobs import work
from tests.lock_files import PRODUCTION, ROOT, only

PASSWORD = "Tall-ships.sail-at-9"
Spans = Callable[[str], list[ReadableSpan]]

ALL_PROCESSES = """
import sys
import config.rsgi, config.streams
from config.processes import tracing
from config.celery import app, trace
app.loader.import_default_modules()
tracing.start("web")
trace()
with tracing.span("boot", "server", {"a": 1}) as span:
    span.rename("reboot")
    span.note({"b": 2})
    span.fail("it failed")
    assert tracing.traceparent() is None
tracing.stop()
print(sorted(name for name in sys.modules if name.partition(".")[0] == "opentelemetry"))
"""


class TracedDrivers:
    """Every host's driver in memory, wrapped in spans like the configured ones."""

    def __init__(self, driver: MemoryDriver):
        self.driver = driver

    def at(self, address: Address):
        return traced(self.driver.at(address), address)


@pytest.fixture
def exporter(settings):
    """The exporter of all spans of this process."""
    settings.TRACING = True
    made = InMemorySpanExporter()
    tracing.start("web", SimpleSpanProcessor(made))
    yield made
    tracing.stop()


@pytest.fixture
def spans(exporter) -> Spans:
    """Return the spans of this name, in the order of their ends."""
    return lambda name: [each for each in exporter.get_finished_spans() if each.name == name]


@pytest.fixture
def asked(world, exporter, client_for) -> Job:
    """The job of a customer's request for an instance."""
    body = {
        "region": world.region.pk, "type": world.type.pk, "image": world.image.pk, "root_pass": PASSWORD,
        "label": "web-1",
    }  # fmt: skip
    answer = client_for(User.objects.get(username=world.actor.username)).post("/v4/compute/instances", body)
    assert answer.status_code == 200, answer.content
    return Job.objects.get()


def test_request_job_and_call_of_the_driver_are_one_trace(asked, spans):
    assert work(asked, TracedDrivers(MemoryDriver())).state == "done"
    [request] = spans("POST /v4/compute/instances")
    [begun] = spans("enqueue provision")
    [step] = spans("provision boot")
    [call] = spans("driver start")
    assert request.parent is None
    assert begun.parent.span_id == request.context.span_id
    assert step.parent.span_id == begun.context.span_id
    assert call.parent.span_id == step.context.span_id
    assert {each.context.trace_id for each in (begun, step, call)} == {request.context.trace_id}
    kinds = [each.kind for each in (request, begun, step, call)]
    assert kinds == [SpanKind.SERVER, SpanKind.PRODUCER, SpanKind.CONSUMER, SpanKind.CLIENT]


def test_spans_name_things_by_id_and_label(asked, spans):
    work(asked, TracedDrivers(MemoryDriver()))
    host = Host.objects.get()
    [request] = spans("POST /v4/compute/instances")
    assert request.attributes["http.route"] == "/v4/compute/instances"
    assert request.attributes["http.response.status_code"] == 200
    assert request.attributes["skerry.request.id"]
    [step] = spans("provision boot")
    assert {
        "skerry.job.id": asked.pk,
        "skerry.job.kind": "provision",
        "skerry.job.outcome": "done",
        "skerry.instance.id": asked.instance_id,
        "skerry.instance.label": "web-1",
        "skerry.host.label": host.label,
    }.items() <= step.attributes.items()
    [call] = spans("driver start")
    assert {
        "skerry.host.label": host.label,
        "skerry.driver.verb": "start",
        "skerry.driver.subject": f"skerry-{asked.instance_id}",
    }.items() <= call.attributes.items()


def test_no_span_has_a_secret(asked, exporter, client_for):
    work(asked, TracedDrivers(MemoryDriver()))
    client_for(User.objects.get(username=asked.created_by)).get("/v4/account?secret=1", headers={"X-Filter": "{}"})
    exported = "".join(each.to_json() for each in exporter.get_finished_spans())
    assert "driver create_disk" in exported
    assert PASSWORD not in exported
    assert "secret" not in exported


def test_a_step_that_fails_says_why_and_is_in_the_trace_of_its_job_when_tried_again(asked, spans):
    driver = MemoryDriver()
    driver.before = failing_at(0, times=1)
    work(asked, TracedDrivers(driver))
    first, second = spans("provision define")
    assert (first.status.status_code, first.status.description) == (StatusCode.ERROR, "The host does not answer.")
    assert first.attributes["skerry.job.outcome"] == "tried again"
    assert second.status.status_code is StatusCode.UNSET
    assert first.context.trace_id == second.context.trace_id
    [failed, *_] = spans("driver define")
    assert failed.status.description == "The host does not answer."


def test_spans_do_not_contain_texts_of_bugs(asked, spans):
    driver = MemoryDriver()
    driver.before = failing_at(0, error=RuntimeError(f"root has {PASSWORD}"), times=1)
    work(asked, TracedDrivers(driver))
    for name in ("provision define", "driver define"):
        first = spans(name)[0]
        assert (first.status.status_code, first.status.description) == (StatusCode.ERROR, "RuntimeError")


def test_a_job_from_before_traces_begins_its_own(asked, spans):
    Job.objects.update(traceparent=None)
    asked.refresh_from_db()
    work(asked, TracedDrivers(MemoryDriver()))
    [step] = spans("provision boot")
    assert step.parent is None


@pytest.mark.parametrize("broken", ["", "nonsense", "00-0-0-01", "00-" + "0" * 32 + "-" + "0" * 16 + "-01"])
def test_a_traceparent_that_is_none_is_no_error(exporter, spans, broken):
    with tracing.span("boot", "consumer", parent=broken):
        pass
    [boot] = spans("boot")
    assert boot.parent is None


def test_a_client_does_not_choose_the_trace(exporter, spans, anonymous):
    given = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
    anonymous.get("/v4/regions", headers={"traceparent": given})
    [request] = spans("GET /v4/regions")
    assert request.parent is None
    assert f"{request.context.trace_id:032x}" != "a" * 32


def test_requests_are_named_by_their_routes(exporter, spans, anonymous):
    anonymous.get("/readyz")  # health checks would flood the traces
    anonymous.get("/password/a-word-that-lets-in/")
    [found] = spans("GET unknown")
    assert found.attributes["http.response.status_code"] == 404
    assert len(exporter.get_finished_spans()) == 1
    assert all("lets-in" not in each.to_json() for each in exporter.get_finished_spans())


def test_drivers_know_each_other_behind_their_spans(db):
    """A driver checks whether another one has its own class."""
    seen = []

    class Own(MemoryDriver):
        def same_volumes(self, other) -> bool:
            seen.append(type(other))
            return isinstance(other, Own)

    one, other = (traced(Own(), Address("")) for _ in range(2))
    assert one.same_volumes(other)
    assert one.same_volumes(other=other)
    assert seen == [Own, Own]


def test_a_host_that_ssh_reaches_is_named_by_its_address(exporter, spans, world):
    Host.objects.update(location="ssh://root@hv1.example.com:2222/var/lib/skerry")
    host = Host.objects.get()
    with tracing.span("boot start", "consumer"):
        traced(MemoryDriver(), address_of(host)).power("skerry-1")
    [call] = spans("driver power")
    assert call.attributes["server.address"] == "hv1.example.com"
    assert call.attributes["skerry.host.label"] == host.label
    assert "root" not in call.to_json()


def test_configured_drivers_have_spans_while_they_are_recorded(world, exporter, spans, monkeypatch):
    monkeypatch.setattr(drivers, "_driver", lambda address, options: MemoryDriver())
    address = address_of(Host.objects.get())
    with tracing.span("boot start", "consumer"):
        ConfiguredDrivers().at(address).power("skerry-1")
    ConfiguredDrivers().at(address).power("skerry-1")  # the watchdog's call, outside of a job
    assert len(spans("driver power")) == 1
    tracing.stop()
    assert type(ConfiguredDrivers().at(address)) is MemoryDriver


def test_nothing_of_it_is_loaded_while_it_is_off():
    """With the packages of production alone. redis-py imports some of it by itself if it is installed."""
    env = only(PRODUCTION, {name: value for name, value in os.environ.items() if name != "TRACING"})
    done = subprocess.run([sys.executable, "-c", ALL_PROCESSES], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_jobs_carry_nothing_while_it_is_off(world):
    assert world.create().jobs.get().traceparent is None


@pytest.mark.parametrize(
    "process",
    [
        ("-c", "import config.rsgi"),
        ("-c", "from config.celery import app; app.loader.import_default_modules()"),
        ("manage.py", "check", "--deploy"),
    ],
    ids=["web", "worker", "check"],
)
def test_without_its_packages_no_process_starts_and_one_sentence_says_why(process):
    env = only(PRODUCTION, {**os.environ, "TRACING": "1", "DJANGO_SETTINGS_MODULE": "config.settings"})
    done = subprocess.run([sys.executable, *process], cwd=ROOT, env=env, capture_output=True, text=True)
    message = "TRACING: is on, and its packages are not installed: docs/monitoring.md#traces names them\n"
    assert (done.returncode, done.stderr) == (1, message)
