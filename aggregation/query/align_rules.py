"""What `align` asks of its query: buckets to fill, every key in the answer, a cap that reaches the next bucket."""

from collections.abc import Sequence

from aggregation.query.nodes import Align, CarryMode, Period, Unit
from aggregation.query.problems import ProblemLog, ProblemType
from aggregation.query.resolved import Key, KeyPart, KeyTrunc, Selected, SelectKey

_MINUTES = {Unit.MINUTE: 1, Unit.HOUR: 60, Unit.DAY: 1_440, Unit.WEEK: 7 * 1_440}
_SHORTEST_DAYS = {Unit.MONTH: 28, Unit.YEAR: 365}
_LONGEST_DAYS = {Unit.MONTH: 31, Unit.YEAR: 366}
_MONTHS = {Unit.MONTH: 1, Unit.YEAR: 12}


def align_check(align: Align, keys: Sequence[Key], select: Sequence[Selected], log: ProblemLog) -> None:
    """Log what keeps the query from being aligned."""
    bucket = next((key for key in keys if isinstance(key, KeyTrunc)), None)
    if bucket is None:
        log.add(align.at, ProblemType.NOT_ALLOWED, "align fills empty buckets: group by a date_trunc")
        return
    if any(isinstance(key, KeyPart) for key in keys):
        msg = "align follows the time line, which a date_part has not: group without it"
        log.add(align.at, ProblemType.NOT_ALLOWED, msg)
    selected = {item.offset for item in select if isinstance(item, SelectKey)}
    if len(selected) < len(keys):
        msg = 'align needs every group key in the answer: select {"group_key": "*"}'
        log.add(align.at, ProblemType.NOT_ALLOWED, msg)
    if align.limit is not None and not _reaches(align.limit, bucket.period):
        cap = "span" if align.mode is CarryMode.NEAREST else "max_age"
        period = bucket.period
        msg = f"the {cap} has to reach the next bucket: use at least the date_trunc's {period.value} {period.unit}"
        log.add(align.limit.at, ProblemType.OUT_OF_RANGE, msg)


def _reaches(cap: Period, bucket: Period) -> bool:
    """Whether the cap is as long as a bucket, whichever months and years they are."""
    if cap.unit in _MONTHS and bucket.unit in _MONTHS:
        return cap.value * _MONTHS[cap.unit] >= bucket.value * _MONTHS[bucket.unit]
    return _minutes(cap, _SHORTEST_DAYS) >= _minutes(bucket, _LONGEST_DAYS)


def _minutes(period: Period, days: dict[Unit, int]) -> int:
    return period.value * (_MINUTES.get(period.unit) or days[period.unit] * 1_440)
