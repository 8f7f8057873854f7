"""Chronotype by the middle of a sleep session on the person's clock (source: the API's value macros).

The thresholds are the API's; the mid-sleep as a measure is that of T. Roenneberg et al., "Life between clocks: daily
temporal patterns of human chronotypes", Journal of Biological Rhythms 18 (2003) 80.
"""

from typing import Final

_DAY_US: Final = 86_400_000_000
_MINUTE_US: Final = 60_000_000
_EVENING_US: Final = 17 * 60 * _MINUTE_US
_LARK_US: Final = (3 * 60 + 30) * _MINUTE_US
_THIRD_US: Final = 6 * 60 * _MINUTE_US


def chronotype(start_local_us: int, end_local_us: int) -> str:
    """`lark` with a midpoint from 17:00 to 03:30, `third` to 06:00, `owl` for the rest."""
    midpoint_us = (start_local_us + end_local_us) // 2 % _DAY_US
    if midpoint_us >= _EVENING_US or midpoint_us <= _LARK_US:
        return "lark"
    return "third" if midpoint_us <= _THIRD_US else "owl"
