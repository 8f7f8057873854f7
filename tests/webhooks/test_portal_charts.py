"""Pictures of deliveries: their geometry and their words, from nothing to very much."""

from datetime import UTC, datetime, timedelta

import pytest

from healthsvc.kernel.http import OutboundFailure
from webhooks.log_selectors import TallyPoint
from webhooks.portal import charts
from webhooks.portal.wording import attempt_advice, count_short, duration_text, span_text

BEGIN = datetime(2026, 11, 20, 14, tzinfo=UTC)
HOUR = timedelta(hours=1)


def points(*counts: tuple[int, int, int | None], span: timedelta = HOUR) -> list[TallyPoint]:
    """Spans one after another: (delivered, failed, mean)."""
    return [
        TallyPoint(BEGIN + span * number, delivered, failed, 0, mean)
        for number, (delivered, failed, mean) in enumerate(counts)
    ]


def test_nothing_has_an_axis_and_no_bar() -> None:
    chart = charts.attempts_chart(points(*[(0, 0, None)] * 24), HOUR)
    assert chart.bars == []
    assert chart.ticks == ("1", "", "0")
    assert chart.times == ("14:00", "20:00", "02:00", "08:00")
    assert chart.description == "No attempts."
    answers = charts.answers_chart(points(*[(0, 0, None)] * 24), HOUR)
    assert (answers.lines, answers.description) == ([], "No answers.")
    assert charts.table_rows(points((0, 0, None)), HOUR) == []


def test_no_span_at_all_is_a_picture_too() -> None:
    assert charts.attempts_chart([], HOUR).times == ()
    assert charts.spark([], HOUR).bars == []


def test_one_spike_fills_its_span_to_the_round_number_above() -> None:
    chart = charts.attempts_chart(points((0, 0, None), (1500, 0, 218), (0, 0, None), (0, 0, None)), HOUR)
    (bar,) = chart.bars
    assert chart.ticks == ("2k", "1k", "0")
    assert (bar.left, bar.width) == ("27.5", "20")
    assert (bar.delivered_top, bar.delivered_height, bar.failed_height) == ("25", "75", "0")
    assert bar.words == "20 Nov 15:00 to 16:00 UTC: 1,500 delivered, 0 failed"


def test_failures_stand_on_what_was_delivered() -> None:
    (bar,) = charts.attempts_chart(points((60, 40, 100)), HOUR).bars
    assert (bar.delivered_top, bar.delivered_height) == ("40", "60")
    assert (bar.failed_top, bar.failed_height) == ("0", "40")


def test_one_failure_among_very_many_is_seen() -> None:
    chart = charts.attempts_chart(points((9_999_999, 1, 12)), HOUR)
    (bar,) = chart.bars
    assert chart.ticks == ("10m", "5m", "0")
    assert (bar.failed_top, bar.failed_height) == ("0", "2")
    assert (bar.delivered_top, bar.delivered_height) == ("2", "98")
    assert chart.description == ("9,999,999 delivered and 1 failed. Most failed in 20 Nov 14:00 to 15:00 UTC: 1.")


def test_a_line_breaks_where_nothing_was_answered() -> None:
    chart = charts.answers_chart(points((1, 0, 50), (1, 0, 100), (0, 0, None), (0, 1, 100)), HOUR)
    # One answer alone is a dash as wide as a bar.
    assert chart.lines == ["12.5,50 37.5,0", "77.5,0 97.5,0"]
    assert chart.ticks == ("100 ms", "50 ms", "0")
    assert chart.description == "At most 100 ms, at least 50 ms."


def test_nothing_that_failed_is_said_once() -> None:
    assert charts.attempts_chart(points((2, 0, 5)), HOUR).description == "2 delivered, none failed."


def test_days_are_named_by_their_date() -> None:
    day = timedelta(days=1)
    chart = charts.attempts_chart(points(*[(1, 0, 5)] * 28, span=day), day)
    assert chart.times == ("20 Nov", "27 Nov", "4 Dec", "11 Dec")
    assert chart.bars[0].words == "20 Nov 2026: 1 delivered, 0 failed"


def test_a_spark_says_its_sums() -> None:
    spark = charts.spark(points(*[(1200, 1, 5)] * 24), HOUR)
    assert spark.words == "Last 24 hours: 28,800 delivered, 24 failed"
    assert len(spark.bars) == 24
    quarters = charts.spark(points(*[(0, 1, 5)] * 96, span=HOUR / 4), HOUR / 4)
    assert (len(quarters.bars), quarters.words) == (24, "Last 24 hours: 0 delivered, 96 failed")
    assert quarters.bars[0].words == "20 Nov 14:00 to 15:00 UTC: 0 delivered, 4 failed"
    assert charts.spark(points(*[(0, 0, None)] * 24), HOUR).words == "Last 24 hours: 0 delivered, 0 failed"


def test_the_table_is_newest_first_and_leaves_out_what_is_empty() -> None:
    rows = charts.table_rows(points((1204, 3, 218), (0, 0, None), (5, 0, 1234)), HOUR)
    assert [(row.span, row.delivered, row.failed, row.mean) for row in rows] == [
        ("20 Nov 16:00 to 17:00 UTC", "5", "0", "1.23 s"),
        ("20 Nov 14:00 to 15:00 UTC", "1,204", "3", "218 ms"),
    ]


@pytest.mark.parametrize(
    ("value", "end"), [(0, 1), (1, 1), (3, 5), (5.1, 10), (11, 20), (10**12 + 1, 2 * 10**12), (10**18, 10**18)]
)
def test_an_axis_ends_at_a_round_number(value: float, end: int) -> None:
    assert charts.round_up(value) == end


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0"), (999, "999"), (1000, "1k"), (1500, "1.5k"), (1234, "1234"), (5 * 10**9, "5bn")]
)
def test_an_axis_label_is_short_and_never_wrong(count: int, text: str) -> None:
    assert count_short(count) == text


@pytest.mark.parametrize(
    ("milliseconds", "text"), [(0.5, "0.5 ms"), (218.4, "218 ms"), (999.6, "1 s"), (1234, "1.23 s"), (15000, "15 s")]
)
def test_durations(milliseconds: float, text: str) -> None:
    assert duration_text(milliseconds) == text


def test_a_span_over_midnight_ends_at_its_hour() -> None:
    assert span_text(datetime(2026, 11, 20, 18, tzinfo=UTC), 6 * HOUR) == "20 Nov 18:00 to 00:00 UTC"


def test_every_failure_has_words_of_its_own() -> None:
    titles = {attempt_advice(None, failure).title for failure in OutboundFailure}
    assert len(titles) == len(OutboundFailure)


@pytest.mark.parametrize(
    ("status_code", "error", "title"),
    [
        (204, "", "Delivered"),
        (None, "timeout", "No answer within 15 seconds"),
        (None, "refused_address", "The address was refused"),
        (None, "connection", "No connection could be made"),
        (None, "tls", "No secure connection could be made"),
        (None, "invented_later", "No connection could be made"),
        (301, "", "The receiver sent a redirect"),
        (401, "", "The receiver asked for credentials"),
        (410, "", "The receiver said that it is gone"),
        (418, "", "The receiver refused the message"),
        (429, "", "The receiver asked for fewer messages"),
        (500, "", "The receiver failed"),
        (600, "", "The answer was not understood"),
    ],
)
def test_every_outcome_has_words_that_say_what_to_do(status_code: int | None, error: str, title: str) -> None:
    advice = attempt_advice(status_code, error)
    assert advice.title == title
    assert bool(advice.advice) is (title != "Delivered")
