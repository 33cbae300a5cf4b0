"""A browser before the project's own server. Without one these tests are skipped, but not in CI."""

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
    """One browser for the run; `visitor` makes it new for each test."""
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
    """One server for the run, on the tests' database. Its rate limits let everything through, staff need a second
    factor for the admin, as in production, and people may sign in with a provider."""
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
    """The server. What tests write is committed, so that it sees it."""
    settings.SITE_URL = _server.url
    return _server


@pytest.fixture
def visitor(chromium, site) -> Iterator[Visitor]:
    """A person with a new browser. At the end, no page may have made the browser complain."""
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
    """The site of an app, where consent leads to."""
    with AppSite() as site:
        yield site


@pytest.fixture
def owner(owner) -> User:
    """The cast's, who has a password here."""
    owner.set_password(PASSWORD)
    owner.save(update_fields=["password"])
    return owner
