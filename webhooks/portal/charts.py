"""Pictures of how deliveries went, as numbers that a template writes into SVG: no script, no inline style.

A picture is stretched to whatever width there is, so that words never shrink with it: they stand beside it as text.
Lengths are hundredths of the picture's width and height, y counted from above.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from webhooks.log_selectors import TallyPoint
from webhooks.portal.wording import count_short, count_text, duration_text, span_text

#: What is not nothing stays visible beside the largest.
_SHORTEST_BAR: Final = 2.0
#: The part of a span's width that its bar fills.
_BAR_WIDTH: Final = 0.8
#: As many bars as a line of a list has room for.
_SPARK_BARS: Final = 24
#: An axis ends at one of these times a power of ten.
_ROUND_STEPS: Final = (1, 2, 5, 10)


@dataclass(frozen=True, slots=True)
class Bar:
    """One span: its left edge and width, the heights of both parts, and what it says."""

    left: str
    width: str
    delivered_top: str
    delivered_height: str
    failed_top: str
    failed_height: str
    words: str


@dataclass(frozen=True, slots=True)
class TableRow:
    """The same span in words, for the table beside the picture."""

    span_at: datetime
    span: str
    delivered: str
    failed: str
    mean: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture and its words; `key` is its name in the page.

    `ticks` are the labels of the upright axis from above, `times` those of the other.
    """

    key: str
    title: str
    description: str
    ticks: tuple[str, str, str]
    times: tuple[str, ...]
    bars: Sequence[Bar] = ()
    #: Runs of points, "x,y x,y"; a span without an answer breaks the line.
    lines: Sequence[str] = ()

    @property
    def has_legend(self) -> bool:
        """Whether two colours must be told apart."""
        return bool(self.bars)


@dataclass(frozen=True, slots=True)
class Spark:
    """A picture of a line's height, without axes."""

    words: str
    bars: Sequence[Bar]


def attempts_chart(points: Sequence[TallyPoint], span: timedelta) -> Chart:
    """Delivered below and failed above, one bar a span."""
    top = round_up(max((point.delivered + point.failed for point in points), default=0))
    delivered, failed = sum(point.delivered for point in points), sum(point.failed for point in points)
    return Chart(
        key="attempts",
        title="Attempts over time",
        description=_counted(delivered, failed, points, span),
        ticks=(count_short(top), _half(top), "0"),
        times=_times(points, span),
        bars=_bars(points, top, span),
    )


def answers_chart(points: Sequence[TallyPoint], span: timedelta) -> Chart:
    """The mean time to an answer, one point a span."""
    known = [point.mean_milliseconds for point in points if point.mean_milliseconds is not None]
    top = round_up(max(known, default=0))
    longest = f"At most {duration_text(max(known))}, at least {duration_text(min(known))}." if known else "No answers."
    return Chart(
        key="answers",
        title="Mean answer time",
        description=longest,
        ticks=(duration_text(top), duration_text(top / 2), "0"),
        times=_times(points, span),
        lines=_lines(points, top),
    )


def spark(points: Sequence[TallyPoint], span: timedelta) -> Spark:
    """The bars alone, few enough for a line of a list."""
    delivered, failed = sum(point.delivered for point in points), sum(point.failed for point in points)
    hours = round(span * len(points) / timedelta(hours=1))
    words = f"Last {hours} hours: {count_text(delivered)} delivered, {count_text(failed)} failed"
    together = max(1, len(points) // _SPARK_BARS)
    merged = [_sum(points[begin : begin + together]) for begin in range(0, len(points), together)]
    top = max((point.delivered + point.failed for point in merged), default=0)
    return Spark(words, _bars(merged, max(top, 1), span * together))


def table_rows(points: Sequence[TallyPoint], span: timedelta) -> list[TableRow]:
    """What the pictures show, newest first; spans in which nothing happened are left out."""
    return [
        TableRow(
            span_at=point.span_at,
            span=span_text(point.span_at, span),
            delivered=count_text(point.delivered),
            failed=count_text(point.failed),
            mean="–" if point.mean_milliseconds is None else duration_text(point.mean_milliseconds),
        )
        for point in reversed(points)
        if point.delivered or point.failed
    ]


def round_up(value: float) -> int:
    """The end of an axis that holds a value: 1, 2 or 5 times a power of ten; 1 for nothing."""
    power = 1
    while True:
        for step in _ROUND_STEPS:
            if step * power >= value:
                return step * power
        power *= 10


def _bars(points: Sequence[TallyPoint], top: float, span: timedelta) -> list[Bar]:
    """Spans of nothing have no bar."""
    return [
        _bar(index, len(points), point, top, span)
        for index, point in enumerate(points)
        if point.delivered or point.failed
    ]


def _bar(index: int, count: int, point: TallyPoint, top: float, span: timedelta) -> Bar:
    failed = _height(point.failed, top)
    delivered = min(_height(point.delivered, top), 100 - failed)
    width = 100 / count
    return Bar(
        left=_number(width * (index + (1 - _BAR_WIDTH) / 2)),
        width=_number(width * _BAR_WIDTH),
        delivered_top=_number(100 - delivered),
        delivered_height=_number(delivered),
        failed_top=_number(100 - delivered - failed),
        failed_height=_number(failed),
        words=f"{span_text(point.span_at, span)}: {count_text(point.delivered)} delivered, "
        f"{count_text(point.failed)} failed",
    )


def _sum(points: Sequence[TallyPoint]) -> TallyPoint:
    """Neighbours as one."""
    return TallyPoint(
        points[0].span_at, sum(point.delivered for point in points), sum(point.failed for point in points)
    )


def _height(count: int, top: float) -> float:
    return max(_SHORTEST_BAR, 100 * count / top) if count else 0.0


def _lines(points: Sequence[TallyPoint], top: float) -> list[str]:
    """Runs of neighbours that have an answer. One alone is a dash as wide as a bar, for a dot would be lost."""
    runs: list[list[tuple[float, float]]] = [[]]
    for index, point in enumerate(points):
        if point.mean_milliseconds is None:
            runs.append([])
        else:
            x, y = 100 * (index + 0.5) / len(points), 100 - 100 * point.mean_milliseconds / top
            runs[-1].append((x, y))
    half = _BAR_WIDTH * 50 / max(1, len(points))
    drawn = [[(x - half, y), (x + half, y)] if len(run) == 1 else run for run in runs if run for x, y in run[:1]]
    return [" ".join(f"{_number(x)},{_number(y)}" for x, y in run) for run in drawn]


def _times(points: Sequence[TallyPoint], span: timedelta) -> tuple[str, ...]:
    """Labels of the four quarters' beginnings."""
    if not points:
        return ()
    begin, quarter = points[0].span_at, span * len(points) / 4
    form = "%H:%M" if span * len(points) <= timedelta(days=1) else "%-d %b"
    return tuple((begin + quarter * number).strftime(form) for number in range(4))


def _counted(delivered: int, failed: int, points: Sequence[TallyPoint], span: timedelta) -> str:
    if not failed:
        return f"{count_text(delivered)} delivered, none failed." if delivered else "No attempts."
    worst = max(points, key=lambda point: point.failed)
    both = f"{count_text(delivered)} delivered and {count_text(failed)} failed."
    return f"{both} Most failed in {span_text(worst.span_at, span)}: {count_text(worst.failed)}."


def _half(top: int) -> str:
    """The middle label; none where the axis has no whole number there."""
    return "" if top % 2 else count_short(top // 2)


def _number(value: float) -> str:
    """At most two places, without an end of zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
