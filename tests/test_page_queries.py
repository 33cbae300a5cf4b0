"""Pages have a fixed number of queries, which is in git."""

from pathlib import Path

from django.db import connection
from django.test.utils import CaptureQueriesContext

from config.pages.grants import UNRESTRICTED
from tests.baselines import compared_with
from tests.page_world import PROVIDER, SHOWN, VIEWS, PageWorld

BASELINE = Path(__file__).parent / "page_queries.txt"


def measured(pages: PageWorld) -> dict[str, str]:
    """Return the number of queries of a GET of each page, or the status if the answer is not a page.

    A restricted user with every grant needs the most queries. Some pages belong to other users.
    """
    others, found = {"instances-tag": pages.owner, "staff-console": pages.staff}, {}
    others |= {name: pages.owner for name, (_, view) in VIEWS.items() if getattr(view, "grant", "") == UNRESTRICTED}
    for name in SHOWN:
        grant = getattr(VIEWS[name][1], "grant", "")
        user = others.get(name, pages.owner if grant == UNRESTRICTED else pages.restricted)
        browser, address = pages.browser(user), pages.address(name, user)
        with CaptureQueriesContext(connection) as queries:
            answer = browser.get(address)
        found[name] = str(len(queries)) if answer.status_code == 200 else f"({answer.status_code})"
    return found


def test_every_page_has_the_recorded_number_of_queries(world, settings, write_baselines):
    settings.OPENID, settings.SITE_URL = PROVIDER, "http://testserver"
    pages = PageWorld.of(world)
    few = measured(pages)
    pages.add_more(2)
    many = measured(pages)
    assert not {name: (few[name], many[name]) for name in SHOWN if few[name] != many[name]}
    compared_with(BASELINE, [f"{name:28} {found:>5}" for name, found in few.items()], write_baselines)
