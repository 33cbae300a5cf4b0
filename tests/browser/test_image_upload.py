"""Uploading an image in a browser: the connection breaks off, and the file is sent again."""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By

from accounts.models import User
from compute.models import Image
from compute.services.images import files
from tests.browser.looks import check
from tests.browser.relay import LIMIT, Relay
from tests.browser.visitor import Visitor
from tests.browser.worker import Worker
from tests.waiting import wait_for
from tests.world import World

pytestmark = pytest.mark.browser

LATER = """
window.skipped = 0;
const clock = performance.now.bind(performance);
performance.now = () => clock() + window.skipped;
"""
"""Lets the page's clock skip `skipped` milliseconds."""
SIZE = 8 * 1024**2
"""More than the buffers between the browser and the relay."""


@pytest.fixture
def relay(visitor: Visitor) -> Iterator[Relay]:
    relay = Relay(visitor.url)
    visitor.url = relay.url
    yield relay
    relay.close()


def shown(visitor: Visitor, part: str) -> str:
    return visitor.driver.find_element(By.CSS_SELECTOR, f"[data-part={part}]").text


@pytest.mark.usefixtures("hurry")
def test_an_upload_that_breaks_off_is_sent_again(
    visitor: Visitor, relay: Relay, world: World, worker: Worker, tmp_path: Path
):
    file, short, other = tmp_path / "disk.img.gz", tmp_path / "short.img.gz", tmp_path / "notes.txt"
    file.write_bytes(gzip.compress(os.urandom(SIZE), 0))
    other.write_text("no image")
    visitor.arrive_as(User.objects.get(pk=world.actor.person))
    visitor.visit("/home/images")
    visitor.follow("Upload image")
    visitor.type("Label", "golden")
    visitor.press("Continue")
    assert visitor.heading == "Upload the file of golden"
    image = Image.objects.get(label="golden")
    part = files.part_of(image.own_number)

    visitor.field("File").send_keys(str(other))
    visitor.button("Upload file").click()
    visitor.wait_for(lambda: visitor.problem == "The file is not gzip, or is broken.")

    visitor.field("File").send_keys(str(file))
    relay.pause()
    visitor.button("Upload file").click()
    wait_for(relay.has_paused.is_set)
    visitor.wait_for(lambda: "of 8.0 MB" in shown(visitor, "sent"))
    relay.break_off()
    visitor.wait_for(lambda: "The connection broke off after" in visitor.problem)
    assert visitor.focused == "Upload again"
    assert all("ERR_" in line for line in visitor.complaints()), "Only the lost connection is a complaint."
    check(visitor)

    wait_for(lambda: not part.exists())  # the service has seen that the connection is gone
    relay.pause()
    visitor.button("Upload again").click()
    wait_for(relay.has_paused.is_set)
    visitor.button("Cancel").click()
    visitor.wait_for(lambda: "You cancelled the upload." in visitor.problem)
    relay.break_off()  # a paused relay does not see that the browser has left

    wait_for(lambda: not part.exists())
    short.write_bytes(gzip.compress(os.urandom(LIMIT), 0))
    visitor.field("File").send_keys(str(short))
    visitor.driver.execute_script(LATER)
    relay.pause()
    visitor.button("Upload again").click()
    visitor.wait_for(lambda: "Waiting for the answer" in shown(visitor, "percent"))
    visitor.driver.execute_script("window.skipped = 300_001")
    visitor.wait_for(lambda: "the server did not answer in time" in visitor.problem)
    visitor.driver.execute_script("window.skipped = 0")
    visitor.field("File").send_keys(str(file))

    relay.mend()
    wait_for(lambda: not part.exists())
    visitor.press("Upload again")
    assert visitor.path == f"/home/images/{image.pk}"
    assert "creating" in visitor.part("image")
    worker.run_jobs()
    visitor.wait_for(lambda: "available" in visitor.part("image"))
    visitor.follow("Create instance")
    assert visitor.driver.find_element(By.CSS_SELECTOR, f"[value='{image.pk}']").is_selected()
