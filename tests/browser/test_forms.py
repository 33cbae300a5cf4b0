"""Forms in a browser: a field that is corrected, and a file that is too large."""

from pathlib import Path

import pytest

from tests.browser.visitor import Visitor
from tests.factories import TicketFactory

pytestmark = pytest.mark.browser


MARKS = """
const [field] = arguments;
return [field.classList.contains("is-invalid"), field.getAttribute("aria-invalid") === "true"];
"""
"""In one script: the page may change between two."""


def test_the_text_of_a_script_is_marked_only_while_it_is_wrong(visitor: Visitor, owner):
    visitor.arrive_as(owner)
    visitor.visit("/home/scripts/new")

    def is_marked() -> bool:
        looks_wrong, is_wrong = visitor.driver.execute_script(MARKS, visitor.field("Script"))
        assert looks_wrong == is_wrong
        return is_wrong

    visitor.type("Script", "#!/bin/sh\n# <UDF name='x'>\n")
    visitor.wait_for(is_marked)
    assert visitor.problem == "The UDF tag on line 2 has no label."
    visitor.type("Script", "echo 1\n")
    visitor.wait_for(lambda: not is_marked())
    assert "The first line names no interpreter." in visitor.text


def test_a_file_that_is_too_large_leads_back_to_the_form(visitor: Visitor, owner, tmp_path: Path):
    ticket, file = TicketFactory(account=owner.account), tmp_path / "log.txt"
    file.write_bytes(b"x" * 6 * 1024**2)
    visitor.arrive_as(owner)
    visitor.visit(f"/home/tickets/{ticket.pk}/files/new")
    visitor.field("File").send_keys(str(file))
    visitor.press("Attach file")
    assert visitor.heading == f"Attach a file to ticket {ticket.pk}"
    assert "The file is too large. It must be at most 5 MB." in visitor.text
    file.write_bytes(b"x")
    visitor.field("File").send_keys(str(file))
    visitor.press("Attach file")
    assert "The file log.txt was attached." in visitor.text
