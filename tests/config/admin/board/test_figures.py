"""Figures, drawn from numbers alone."""

from datetime import UTC, datetime, timedelta

from django.template.loader import render_to_string

from config.admin.board.bars import BarTable, bar, meter
from config.admin.board.course import HEIGHT, ROWS, Course, Series
from config.admin.pages import Row

START, MINUTE = datetime(2026, 11, 24, 12, tzinfo=UTC), timedelta(minutes=1)


def course(*values: float | None, lines=(), **rest) -> Course:
    columns = [Series("done", "busy", values)] if values else []
    return Course.of("a", "A", START, MINUTE, columns, description="Said.", lines=lines, **rest)


def test_pieces_of_a_bar_stand_side_by_side_and_never_leave_it():
    drawn = bar([("good", 1), ("busy", 0), ("bad", 3)], 8)
    assert '<rect class="good" x="0.00%" width="12.50%"' in drawn
    assert '<rect class="bad" x="12.50%" width="37.50%"' in drawn
    assert "busy" not in drawn
    assert 'x="0.00%" width="100.00%"' in bar([("bad", 9)], 3)


def test_a_bar_of_nothing_is_empty():
    assert "bad" not in bar([("bad", 1)], 0)


def test_a_meter_says_in_words_what_it_shows():
    assert "<span>1 &lt; 2</span>" in meter(1, 2, "1 < 2", "busy")


def test_columns_stand_on_each_other():
    done, failed = Series("done", "busy", [6, 0]), Series("failed", "bad", [2, 1])
    drawn = Course.of("a", "A", START, MINUTE, [done, failed], description="")
    first, second, third = drawn.pieces
    assert (first.tone, second.tone, third.tone) == ("busy", "bad", "bad")
    assert second.y + second.height == first.y
    assert third.x == 50
    assert round(first.y + first.height, 2) == drawn.floor < HEIGHT
    assert [tick.label for tick in drawn.ups] == ["10", "5", "0"]


def test_a_line_is_broken_where_there_is_no_value():
    slow = Series("slowest", "line", [1.0, None, 2.0, 4.0], whole=False)
    (tone, dot), (_, run) = course(lines=[slow]).lines
    assert tone == "line"
    assert dot == "12.50,80.00 12.50,80.00", "a line of one point is a dot"
    assert run == "62.50,60.00 87.50,20.00"


def test_the_table_sums_what_adds_up_and_has_the_highest_of_what_does_not():
    slow = Series("slowest", "line", [float(at) for at in range(180)], whole=False)
    drawn = course(*[1.0] * 180, lines=[slow])
    assert drawn.headers == ["From", "done", "slowest"]
    assert len(drawn.rows) == ROWS
    assert drawn.rows[1] == ["12:15", "15", "29"]


def test_nothing_at_all_is_drawn_as_nothing():
    drawn = course(0, 0)
    assert drawn.empty
    assert [tick.label for tick in drawn.ups] == ["1", "0.5", "0"]
    assert course(None, None).rows == [["12:00", "–"], ["12:01", "–"]]


def test_a_drawing_has_a_title_a_description_and_a_table():
    page = render_to_string("admin/board/course.html", {"figure": course(3, 4, unit="ms", note="Noted.")})
    for part in (
        '<title id="a-title">A</title>', '<desc id="a-desc">Said.</desc>', "5 ms", "Noted.",
        '<th scope="row">12:01</th>', "<td>4</td>",
    ):  # fmt: skip
        assert part in page


def test_rows_of_bars_are_headed_by_their_first_cell():
    table = BarTable("T", ("Region", ""), [Row(("<b>", bar([], 1)))], legend=(("off", "quiet"),), more="/all")
    page = render_to_string("admin/board/bars.html", {"figure": table})
    assert '<th scope="row">&lt;b&gt;</th>' in page
    assert '<th scope="col">Region</th><td></td>' in page
    assert "off</span>" in page
    assert 'href="/all"' in page
    assert "None." in render_to_string("admin/board/bars.html", {"figure": BarTable("T", ())})
