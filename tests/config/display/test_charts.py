"""Charts, drawn from numbers alone."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from django.template.loader import render_to_string

from config.display.charts import HEIGHT, MAX_ROWS, MIN_MARK_WIDTH, Series, TimeSeriesChart

START, MINUTE = datetime(2026, 11, 24, 12, tzinfo=UTC), timedelta(minutes=1)


def chart(*values: float | None, lines=(), step=MINUTE, **rest) -> TimeSeriesChart:
    bars = [Series("done", "busy", values)] if values else []
    return TimeSeriesChart.of("a", "A", START, step, bars, description="Said.", lines=lines, **rest)


def test_bars_stand_on_each_other():
    done, failed = Series("done", "busy", [6, 0]), Series("failed", "bad", [2, 1])
    drawn = TimeSeriesChart.of("a", "A", START, MINUTE, [done, failed], description="")
    first, second, third = drawn.bars
    assert (first.tone, second.tone, third.tone) == ("busy", "bad", "bad")
    assert second.y + second.height == first.y
    assert third.x == 50
    assert round(first.y + first.height, 2) == drawn.baseline < HEIGHT
    assert [tick.label for tick in drawn.value_ticks] == ["10", "5", "0"]


def test_a_line_is_broken_where_there_is_no_value():
    slow = Series("slowest", "line", [1.0, None, 2.0, 4.0], additive=False)
    (dotted, dot), (tone, run) = chart(lines=[slow]).lines
    assert (dotted, tone) == ("line dot", "line")
    assert dot == "12.50,80.00 12.50,80.00", "a line of one point is a dot"
    assert run == "62.50,60.00 87.50,20.00"


def test_the_table_sums_additive_values_and_has_the_highest_of_others():
    slow = Series("slowest", "line", [float(at) for at in range(180)], additive=False)
    drawn = chart(*[1.0] * 180, lines=[slow])
    assert drawn.headers == ["From", "done", "slowest"]
    assert len(drawn.rows) == MAX_ROWS
    assert drawn.rows[1] == ["12:15", "15", "29"]


def test_a_run_of_marked_times_is_one_rectangle_that_can_be_seen():
    failed = Series("failed", "failed", [0, 2, 1, None, *[0] * 995, 3])
    drawn = TimeSeriesChart.of("a", "A", START, MINUTE, description="", marks=[failed])
    assert [(bar.x, bar.width) for bar in drawn.bars] == [(0.1, MIN_MARK_WIDTH), (99.7, MIN_MARK_WIDTH)]
    assert {(bar.y, bar.y + bar.height) for bar in drawn.bars} == {(drawn.top, drawn.baseline)}
    assert drawn.rows[0][1] == "3"
    assert drawn.value_ticks[0].label == "1", "marks have no height"


def test_a_chart_without_values_is_empty():
    drawn = chart(0, 0)
    assert drawn.empty
    assert [tick.label for tick in drawn.value_ticks] == ["1", "0.5", "0"]
    assert chart(None, None).rows == [["12:00", "–"], ["12:01", "–"]]


def test_a_drawing_has_a_title_a_description_and_a_table():
    page = render_to_string("components/chart.html", {"chart": chart(3, 4, unit="ms", note="Noted.")})
    for part in (
        '<title id="a-title">A</title>', '<desc id="a-desc">Said.</desc>', "5 ms", "Noted.",
        '<th scope="row">12:01</th>', "<td>4</td>",
    ):  # fmt: skip
        assert part in page


def test_times_are_shown_in_the_zone_of_the_reader():
    drawn = chart(1, 2, zone=ZoneInfo("Europe/Berlin"))
    assert [tick.label for tick in drawn.time_ticks] == ["13:00", "13:01", "13:02"]


def test_the_times_of_one_step_are_its_start_and_its_end():
    assert [(tick.position, tick.label) for tick in chart(1).time_ticks] == [(0, "12:00"), (100, "12:01")]


def test_the_days_of_a_long_time_are_shown():
    drawn = chart(*[1] * 48, step=timedelta(hours=1))
    assert drawn.time_ticks[0].label == "11-24 12:00"
    assert drawn.time_ticks[-1].label == "11-26 12:00"


def test_the_clock_of_a_zone_may_change_within_a_chart():
    hours = timedelta(hours=1)
    before = datetime(2026, 10, 24, 22, tzinfo=ZoneInfo("Europe/Berlin"))
    drawn = TimeSeriesChart.of(
        "a", "A", before, hours, [Series("n", "busy", [1] * 10)], description="", zone=ZoneInfo("Europe/Berlin")
    )
    assert drawn.time_ticks[-1].label == "07:00"
