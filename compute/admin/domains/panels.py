"""The parts of a domain's page: its status and its zone file."""

from compute.models import Domain
from compute.services.domains import zone_files
from config.admin.pages import Panel
from config.admin.value_formats import rendered

LINES_SHOWN = 200


def zone_panel(domain: Domain) -> Panel:
    """The zone as name servers have it, up to `LINES_SHOWN` lines."""
    lines = zone_files.lines(domain)
    title = "Zone file" if len(lines) <= LINES_SHOWN else f"The first {LINES_SHOWN} of {len(lines)} lines"
    text = "\n".join(lines[:LINES_SHOWN])
    return Panel.of("Zone", (title,), [(rendered("components/secret.html", name="zone", text=text, what="lines"),)])
