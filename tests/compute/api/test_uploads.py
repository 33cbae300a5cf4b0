"""Uploading an image: the address, the file, and the result."""

import gzip
import io
import logging
import os
import threading
import time
import tracemalloc
from contextlib import closing
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils.timezone import now

from accounts.models import Event, GlobalGrants, Grant, User
from compute.models import Image, Job
from compute.services.images import files as image_files
from compute.services.images import unpacking, uploads
from compute.services.images.images import expire_uploads
from config.errors import Invalid, Missing
from tests.compute.memory_driver import failing_at
from tests.compute.run_jobs import work

pytestmark = pytest.mark.django_db

UPLOAD = "/v4/images/upload"
RAW = os.urandom(300_000) + bytes(700_000)
FILE = gzip.compress(RAW)
MB = 1024**2


@pytest.fixture
def folder(settings):
    return settings.UPLOADS_DIR


@pytest.fixture
def body(world) -> dict:
    return {"label": "mine", "region": world.region.pk, "description": "Raw"}


@pytest.fixture
def begun(api, body) -> dict:
    return api.post(UPLOAD, body).json()


@pytest.fixture
def image(begun) -> Image:
    return Image.objects.get(pk=begun["image"]["id"])


def put(address: str, data: bytes = FILE, **headers):
    """Send a file as ``curl -T`` would: without token and cookies, and with Django's CSRF check enabled."""
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    return client.generic("PUT", address, data, content_type="application/octet-stream", headers=headers)


def refusal(response) -> str:
    assert response.status_code == 400, response.content
    (error,) = response.json()["errors"]
    assert error["field"] is None
    return error["reason"]


def files(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file()) if folder.exists() else []


# --- the address -----------------------------------------------------------------------------------------


def test_an_upload_begins_with_an_image_that_waits_for_it(begun, image, world):
    assert begun["image"] == {
        "id": image.pk, "label": "mine", "description": "Raw", "vendor": None, "size": 0, "type": "manual",
        "status": "pending_upload", "is_public": False, "deprecated": False, "created": begun["image"]["created"],
        "updated": begun["image"]["updated"], "created_by": "worldowner", "expiry": None, "eol": None,
    }  # fmt: skip
    assert begun["upload_to"].startswith("http://testserver/uploads/images/")
    event = Event.objects.get()
    assert (event.action, event.status, event.entity_id) == ("image_upload", "scheduled", image.number)
    assert image.account == world.account


def test_wrong_fields_are_named(api):
    assert {error["field"] for error in api.post(UPLOAD, {}).json()["errors"]} == {"label", "region"}
    wrong = api.post(UPLOAD, {"label": "x", "region": "mars"})
    assert wrong.json() == {"errors": [{"field": "region", "reason": "region is not valid"}]}
    assert not Image.objects.filter(number__isnull=False).exists()


def test_it_needs_scope_and_grant_and_the_creator_may_write(client_for, world, body):
    helper = User.objects.create_user("helper", account=world.account, restricted=True)
    assert client_for(helper).post(UPLOAD, body).status_code == 403
    GlobalGrants.objects.create(user=helper, add_images=True)
    assert client_for(helper, "images:read_only").post(UPLOAD, body).status_code == 401
    made = client_for(helper, "images:read_write").post(UPLOAD, body).json()
    assert f"private/{Grant.objects.get(entity_type='image').entity_id}" == made["image"]["id"]


def test_an_image_is_as_large_as_all_that_the_file_unpacks_to(api, begun, image, driver):
    members = gzip.compress(bytes(3 * 1024**2)) + gzip.compress(b"x") + bytes(7)
    assert put(begun["upload_to"], members).status_code == 200
    work(Job.objects.get(), driver)
    assert api.get(f"/v4/images/{image.pk}").json()["size"] == 4


# --- the file --------------------------------------------------------------------------------------------


def test_a_file_becomes_an_image(api, begun, image, driver, folder):
    response = put(begun["upload_to"])
    assert (response.status_code, response.json()) == (200, {})
    assert files(folder) == [f"{image.number}.gz"]
    assert image_files.file_of(image.number).read_bytes() == FILE
    assert image_files.file_of(image.number).stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    assert api.get(f"/v4/images/{image.pk}").json()["status"] == "creating"

    work(Job.objects.get(), driver)

    shown = api.get(f"/v4/images/{image.pk}").json()
    assert (shown["status"], shown["size"]) == ("available", driver.archive_size(f"skerry-image-{image.number}"))
    assert shown["size"] > 0
    assert files(folder) == []
    event = Event.objects.get()
    assert (event.action, event.status, event.percent_complete) == ("image_upload", "finished", 100)


def test_it_is_taken_once(begun, driver):
    assert put(begun["upload_to"]).status_code == 200
    assert refusal(put(begun["upload_to"])) == "The image was uploaded already."
    work(Job.objects.get(), driver)
    assert refusal(put(begun["upload_to"])) == "The image was uploaded already."
    assert Job.objects.count() == 1


def test_a_failed_import_leaves_no_image_archive_or_file(api, begun, image, driver, folder):
    put(begun["upload_to"])
    driver.after = failing_at(0)

    work(Job.objects.get(), driver)

    assert api.get(f"/v4/images/{image.pk}").status_code == 404
    assert (files(folder), driver.archives.keys()) == ([], set())
    assert Event.objects.get().status == "failed"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "Content-Length is required."),
        (b"not gzip at all", "The file is not gzip, or is broken."),
        (b"\0" + FILE, "The file is not gzip, or is broken."),
    ],
    ids=range(3),
)
def test_a_file_that_is_not_gzip_is_refused_and_may_be_sent_again(data, reason, begun, image, folder):
    assert refusal(put(begun["upload_to"], data)) == reason
    assert files(folder) == []
    assert not Job.objects.exists()
    image.refresh_from_db()
    assert image.status == "pending_upload"
    assert put(begun["upload_to"]).status_code == 200


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (FILE[:-1], "The upload ended early."),
        (FILE[:200_000], "The upload ended early."),
        (FILE[:10], "The upload ended early."),
        (FILE[:-8] + b"\0" * 8, "The file is not gzip, or is broken."),
        (FILE[:-4] + b"\1\2\3\4", "The file is not gzip, or is broken."),
        (FILE[:100_000] + bytes(100) + FILE[100_100:], "The file is not gzip, or is broken."),
        (FILE + b"rubbish", "The file is not gzip, or is broken."),
        (gzip.compress(b"") * 10_001, "The file has more than 10000 gzip members."),
    ],
    ids=range(8),
)
def test_a_broken_upload_leaves_no_image(data, reason, api, begun, image, driver, folder):
    assert put(begun["upload_to"], data).status_code == 200
    work(Job.objects.get(), driver)
    event = Event.objects.get()
    assert (event.status, event.message) == ("failed", reason)
    assert api.get(f"/v4/images/{image.pk}").status_code == 404
    assert put(begun["upload_to"]).status_code == 404, "it is unpacked once"
    assert (files(folder), driver.archives.keys()) == ([], set())


@pytest.mark.parametrize("data", [FILE * 3, gzip.compress(RAW[:5]) + FILE + bytes(5000)])
def test_several_members_and_zeros_after_them_are_gzip(data, begun, image):
    assert put(begun["upload_to"], data).status_code == 200
    path = image_files.file_of(image.number)
    with gzip.open(path) as file:
        assert file.read().endswith(RAW)
    assert unpacking.measure(path, len(RAW) * 3, seconds=60) == -(-len(gzip.decompress(data)) // MB)


def test_a_file_that_is_too_large_is_refused_before_it_is_read(begun, settings, folder):
    settings.UPLOAD_LIMIT = len(FILE) - 1
    assert "GB compressed" in refusal(put(begun["upload_to"]))
    assert files(folder) == []
    settings.UPLOAD_LIMIT = len(FILE)
    assert put(begun["upload_to"]).status_code == 200


@pytest.mark.parametrize(("room", "status"), [(len(RAW) - 1, "failed"), (len(RAW), "finished")])
def test_the_unpacked_size_is_limited_too(room, status, begun, settings, folder, driver):
    settings.UPLOAD_LIMIT_RAW = room
    assert put(begun["upload_to"]).status_code == 200
    work(Job.objects.get(), driver)
    event = Event.objects.get()
    assert event.status == status
    assert ("GB uncompressed" in event.message) == (status == "failed")
    assert files(folder) == []


def test_the_limits_are_the_published_ones(settings):
    assert (settings.UPLOAD_LIMIT, settings.UPLOAD_LIMIT_RAW) == (5 * 1024**3, 6 * 1024**3)


def test_unpacking_takes_little_memory_and_bounded_time(tmp_path):
    bomb = tmp_path / "bomb"
    bomb.write_bytes(gzip.compress(bytes(100 * MB), 9))
    tracemalloc.start()
    try:
        assert unpacking.measure(bomb, 1024 * MB, seconds=600) == 100
        assert tracemalloc.get_traced_memory()[1] < 8 * MB
    finally:
        tracemalloc.stop()
    with pytest.raises(Invalid, match="too long"):
        unpacking.measure(bomb, 1024 * MB, seconds=0)


def test_an_account_has_some_places_and_some_room(api, body, begun, image, settings):
    settings.UPLOADS_AT_ONCE = 1
    other = api.post(UPLOAD, {**body, "label": "other"}).json()["upload_to"]
    with closing(uploads.begin(uploads.sign(image), len(FILE))):
        assert refusal(put(other)).startswith("An account can have at most 1 uploads at once")
    settings.UPLOAD_SPACE = len(FILE) * 2 - 1
    settings.UPLOADS_AT_ONCE = 2
    with closing(uploads.begin(uploads.sign(image), len(FILE))):  # no byte of it has arrived yet
        assert "GB at once" in refusal(put(other))
    assert put(other).status_code == 200


def test_an_upload_that_ends_early_is_refused(begun, image, folder):
    with pytest.raises(Invalid, match="ended early"):
        uploads.receive(uploads.sign(image), io.BytesIO(FILE), len(FILE) + 1)
    assert files(folder) == []


# --- who may send it -------------------------------------------------------------------------------------


def test_the_signature_gives_access(begun, image):
    address = begun["upload_to"]
    other = address.replace(f"/{image.number}:", f"/{image.number + 1}:")
    assert other != address
    for wrong in (address[:-1], address + "x", other, "/uploads/images/1", "/uploads/images/%00:x:y"):
        response = put(wrong)
        assert (response.status_code, response.json()["errors"][0]["reason"]) == (404, "Not found")
    assert not Job.objects.exists()


def test_only_put_is_answered_and_browsers_may_send_it_from_anywhere(begun):
    client = Client()
    for method in ("get", "post", "delete", "patch"):
        response = getattr(client, method)(begun["upload_to"])
        assert (response.status_code, response["Allow"]) == (405, "PUT")
        assert response.json()["errors"] == [{"field": None, "reason": "Method Not Allowed"}]
    asked = client.options(
        begun["upload_to"],
        headers={"Origin": "https://console.example", "Access-Control-Request-Method": "PUT"},
    )
    assert asked["Access-Control-Allow-Origin"] == "*"
    assert "PUT" in asked["Access-Control-Allow-Methods"]
    assert put(begun["upload_to"], Origin="https://console.example")["Access-Control-Allow-Origin"] == "*"


def test_the_access_log_does_not_show_the_signature(begun, caplog):
    caplog.set_level(logging.INFO, "access")
    Client().get(begun["upload_to"])
    put(begun["upload_to"], b"no gzip")
    lines = [record.getMessage() for record in caplog.records if record.name == "access"]
    assert [line.rpartition(" ")[0].rpartition(" ")[0] for line in lines] == [
        "GET /uploads/images/… 405",
        "PUT /uploads/images/… 400",
    ]


@pytest.mark.parametrize("for_browser", [False, True])
def test_an_address_is_good_until_a_day_after_the_image_was_created(for_browser, begun, image):
    """The address that was made last works no longer than the image waits."""
    Image.objects.filter(pk=image.pk).update(created=now() - timedelta(hours=24, minutes=1))
    with pytest.raises(Missing):
        uploads.begin(uploads.sign(image, for_browser=for_browser), len(FILE))
    Image.objects.filter(pk=image.pk).update(created=now() - timedelta(hours=23, minutes=59))
    assert expire_uploads() == 0
    uploads.begin(uploads.sign(image, for_browser=for_browser), len(FILE)).close()


def test_an_upload_in_a_browser_starts_within_two_minutes_and_may_take_longer(begun, image, monkeypatch):
    in_browser, in_command = uploads.sign(image, for_browser=True), uploads.sign(image)
    upload = uploads.begin(in_browser, len(FILE))
    real = time.time
    monkeypatch.setattr("django.core.signing.time.time", lambda: real() + 125)
    upload.write(FILE)
    upload.accept()
    upload.close()
    with pytest.raises(Missing):
        uploads.begin(in_browser, len(FILE))
    with pytest.raises(Invalid, match="uploaded already"):
        uploads.begin(in_command, len(FILE))


def test_a_suspended_account_uploads_nothing(begun, world):
    world.account.is_active = False
    world.account.save()
    assert put(begun["upload_to"]).status_code == 404


def test_deleting_the_image_takes_the_address_back(api, begun, image, folder):
    put(begun["upload_to"], RAW)
    assert api.delete(f"/v4/images/{image.pk}").json() == {}
    assert put(begun["upload_to"]).status_code == 404
    assert not Image.objects.filter(pk=image.pk).exists()
    assert list(Event.objects.order_by("pk").values_list("action", "status")) == [
        ("image_upload", "failed"), ("image_delete", "notification"),
    ]  # fmt: skip


# --- two at once -----------------------------------------------------------------------------------------


class Slow:
    """A body that stops half way until it is released. `begun` is set when it has stopped."""

    def __init__(self, data: bytes, then=lambda: None):
        self.file, self.half, self.then = io.BytesIO(data), len(data) // 2, then

    def read(self, size: int) -> bytes:
        chunk = self.file.read(min(size, self.half))
        if self.file.tell() >= self.half and self.then:
            then, self.then = self.then, None
            then()
        return chunk


def test_a_second_upload_is_refused_while_the_first_is_under_way(begun, image, folder):
    refusals = []

    def second() -> None:
        refusals.append(refusal(put(begun["upload_to"])))

    uploads.receive(uploads.sign(image), Slow(FILE, second), len(FILE))
    assert refusals == ["An upload of this image is under way."]
    assert image_files.file_of(image.number).read_bytes() == FILE
    assert Job.objects.count() == 1


def test_an_image_deleted_while_it_comes_in_is_not_brought_back(api, begun, image, folder):
    def gone() -> None:
        assert api.delete(f"/v4/images/{image.pk}").status_code == 200

    with pytest.raises(Missing):
        uploads.receive(uploads.sign(image), Slow(FILE, gone), len(FILE))
    assert not Job.objects.exists()
    assert files(folder) == []


@pytest.mark.django_db(transaction=True)
def test_one_of_many_simultaneous_uploads_succeeds(begun, image, folder):
    ready, results = threading.Barrier(6), []

    def run() -> None:
        try:
            ready.wait()
            uploads.receive(uploads.sign(image), Slow(FILE), len(FILE))
            results.append("taken")
        except Invalid as error:
            results.append(str(error))
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results.count("taken") == 1
    assert set(results) <= {"taken", uploads.UNDER_WAY, uploads.USED}
    assert len(results) == 6
    assert Job.objects.count() == 1
    assert files(folder) == [f"{image.number}.gz"]
    assert image_files.file_of(image.number).read_bytes() == FILE


# --- too late --------------------------------------------------------------------------------------------


def test_uploads_that_do_not_come_within_a_day_are_given_up(api, begun, image, folder, world):
    other = api.post(UPLOAD, {"label": "x", "region": world.region.pk}).json()
    late, fresh = image, Image.objects.get(pk=other["image"]["id"])
    Image.objects.filter(pk=late.pk).update(created=now() - timedelta(hours=24, minutes=1))
    for number in (late.number, fresh.number, 999_999):
        image_files.part_of(number).write_bytes(b"x")
    image_files.file_of(999_998).write_bytes(b"x")

    assert expire_uploads() == 1
    assert expire_uploads() == 0

    assert not Image.objects.filter(pk=late.pk).exists()
    assert Image.objects.filter(pk=fresh.pk).exists()
    assert files(folder) == [f"{fresh.number}.part"]
    event = Event.objects.get(entity_id=late.number)
    assert (event.status, event.message) == ("failed", "The upload did not come in time.")


def test_a_received_upload_does_not_expire(begun, image, driver, folder):
    put(begun["upload_to"])
    Image.objects.filter(pk=image.pk).update(created=now() - timedelta(days=3))
    assert expire_uploads() == 0
    assert files(folder) == [f"{image.number}.gz"]
    work(Job.objects.get(), driver)
    assert expire_uploads() == 0
    assert Image.objects.get(pk=image.pk).status == "available"
