"""Tables with bars, drawn from numbers alone."""

from django.template.loader import render_to_string

from config.admin.board.bars import BarTable, bar, meter
from config.admin.pages import Row


def test_pieces_of_a_bar_stand_side_by_side_and_never_leave_it():
    drawn = bar([("good", 1), ("busy", 0), ("bad", 3)], 8)
    assert '<rect class="good" x="0.00%" width="12.50%"' in drawn
    assert '<rect class="bad" x="12.50%" width="37.50%"' in drawn
    assert "busy" not in drawn
    assert 'x="0.00%" width="100.00%"' in bar([("bad", 9)], 3)


def test_a_bar_of_nothing_is_empty():
    assert "bad" not in bar([("bad", 1)], 0)


def test_a_meter_has_a_text():
    assert "<span>1 &lt; 2</span>" in meter(1, 2, "1 < 2", "busy")


def test_rows_of_bars_are_headed_by_their_first_cell():
    table = BarTable("T", ("Region", ""), [Row(("<b>", bar([], 1)))], legend=(("off", "quiet"),), more="/all")
    page = render_to_string("admin/board/bars.html", {"figure": table})
    assert '<th scope="row">&lt;b&gt;</th>' in page
    assert '<th scope="col">Region</th><td></td>' in page
    assert "off</span>" in page
    assert 'href="/all"' in page
    assert "None." in render_to_string("admin/board/bars.html", {"figure": BarTable("T", ())})
