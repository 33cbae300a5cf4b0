"""A browser and the project's own server. Without a browser these tests are skipped, except in CI."""

import os
from collections.abc import Iterator

import pytest
from django.conf import settings as configured
from selenium import webdriver

from accounts.models import User
from compute.jobs import queue
from compute.worker import ending, engine
from tests.browser.site import AppSite, Site
from tests.browser.visitor import PASSWORD, Visitor, missing, start
from tests.browser.worker import Worker
from tests.page_world import PROVIDER
from tests.plugin_embedded import environment
from tests.running import running

PLENTY = "1000000/60"
HURRY = """
const later = setTimeout
window.setTimeout = (call, wait, ...given) => later(call, wait >= 1000 ? wait / 10 : wait, ...given)
"""


@pytest.fixture(scope="session")
def chromium(tmp_path_factory) -> Iterator[webdriver.Chrome]:
    """One browser for the run. `visitor` resets it for each test."""
    if lacking := missing():
        reason = f"No {' and no '.join(lacking)} on the PATH: apt-get install chromium chromium-driver"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    driver = start(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def _server(django_db_setup, django_db_blocker, tmp_path_factory) -> Iterator[Site]:
    """One server for the run, on the tests' database.

    Its rate limits are very high. As in production, staff need a second factor for the admin. People may sign
    in with a provider.
    """
    with django_db_blocker.unblock():
        env = environment()
    limits = {f"RATE_LIMIT_{name.upper()}": PLENTY for name in configured.RATE_LIMITS}
    wanted = {
        "STAFF_SECOND_FACTOR": "1",
        "OIDC_ISSUER": PROVIDER.issuer,
        "OIDC_CLIENT_ID": PROVIDER.client_id,
        "OIDC_CLIENT_SECRET": PROVIDER.client_secret,
        "OIDC_NAME": PROVIDER.name,
    }
    with running(Site(env | limits | wanted, tmp_path_factory.mktemp("server") / "log")) as server:
        yield server


@pytest.fixture
def site(_server, transactional_db, settings) -> Site:
    """The server. Tests commit their rows, so that it sees them."""
    settings.SITE_URL = _server.url
    return _server


@pytest.fixture
def visitor(chromium, site) -> Iterator[Visitor]:
    """A person with a reset browser. At the end, the browser's console must have no complaint about a page."""
    visitor = Visitor(chromium, site.url)
    visitor.forget_everything()
    yield visitor
    assert visitor.complaints() == []


@pytest.fixture
def hurry(visitor) -> Iterator[None]:
    """Pages wait a tenth of the time before they poll again."""
    added = visitor.command("Page.addScriptToEvaluateOnNewDocument", source=HURRY)
    yield
    visitor.command("Page.removeScriptToEvaluateOnNewDocument", **added)


@pytest.fixture
def worker(site, settings, monkeypatch) -> Iterator[Worker]:
    """Runs the jobs that pages begin."""
    settings.DRIVER_SCALE = settings.JOB_BACKOFF = 0
    for module in (queue, engine, ending):
        monkeypatch.setattr(module, "notify", lambda number: None)
    worker = Worker()
    yield worker
    worker.close()


@pytest.fixture
def app_site() -> Iterator[AppSite]:
    """The site of an app, to which the consent page redirects."""
    with AppSite() as site:
        yield site


@pytest.fixture
def owner(owner) -> User:
    """The owner, with a password."""
    owner.set_password(PASSWORD)
    owner.save(update_fields=["password"])
    return owner
