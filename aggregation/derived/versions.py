"""The versions of what is derived, oldest first. A changed formula gets a new one; the old one goes on to answer."""

from typing import Final

FIRST: Final = "2026-11"
#: Value macros of the sleep table.
MACRO_VERSIONS: Final = {
    "sleep_score": (FIRST,),
    "chronotype": (FIRST,),
    "asleep_at": (FIRST,),
    "awake_at": (FIRST,),
    "awakenings": (FIRST,),
}
