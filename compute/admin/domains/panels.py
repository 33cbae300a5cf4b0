"""The parts of a domain's page: its status and its zone file."""

from compute.models import Domain
from compute.services.domains import zone_files
from config.admin.pages import Panel

LINES_SHOWN = 200


def zone_panel(domain: Domain) -> Panel:
    """The zone as name servers have it, up to `LINES_SHOWN` lines."""
    lines = zone_files.lines(domain)
    title = "Zone" if len(lines) <= LINES_SHOWN else f"Zone (the first {LINES_SHOWN} of {len(lines)} lines)"
    return Panel.of(title, ("Line",), ((line,) for line in lines[:LINES_SHOWN]))
