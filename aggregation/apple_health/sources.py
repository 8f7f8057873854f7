"""Who recorded a record: Apple's `sourceName` and `device` texts as one of the API's sources.

An export names no bundle ids, so `app_id` is the source's name as the phone shows it, with white space evened out
(Apple writes a no-break space inside "Apple Watch"). It keeps overlapping sources apart: two watches, or a watch
and a phone, are two series. `device_id` is a row of ours and stays empty.
"""

import re
from functools import lru_cache

from aggregation.records import DataSource

PROVIDER = "apple_health_kit"
_MAX_NAME_CHARACTERS = 200

#: First match wins; the words are looked for in the device's name, model, maker and hardware, then in the source's.
_TYPE_WORDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("automatic", re.compile(r"\bcgm\b|dexcom|libre|guardian|eversense|stelo")),
    ("insulin_pump", re.compile(r"insulin pump|omnipod|tandem t|minimed")),
    ("cuff", re.compile(r"\bcuff\b|blood pressure|\bbpm\b|omron")),
    ("scale", re.compile(r"\bscale\b|body\+|body (?:cardio|comp|scan|smart)|\baria\b")),
    ("fingerprick", re.compile(r"glucose meter|glucometer|contour|accu-?chek|onetouch")),
    ("chest_strap", re.compile(r"chest strap|\bh(?:7|9|10)\b|\btickr\b|\bhrm\b")),
    ("ring", re.compile(r"\bring\b|\boura\b")),
    ("earphone", re.compile(r"airpods|earbuds|powerbeats")),
    ("exercise_machine", re.compile(r"treadmill|ergometer|indoor bike|gymkit")),
    ("watch", re.compile(r"watch|forerunner|fenix|smart ?band")),
    ("phone", re.compile(r"iphone|ipod")),
)
_DEVICE_FIELD = re.compile(r"(?:name|manufacturer|model|hardware):(.*?)(?=, [a-zA-Z ]+:|>?$)")


def data_source(source_name: str | None, device: str | None) -> DataSource:
    """The source of a record from its two attributes; cached, for an export repeats a handful of them."""
    # The device text starts with the address the object had in the phone's memory, another one in every export.
    return _data_source(source_name or "", (device or "").partition(">")[2])


@lru_cache(maxsize=1024)
def _data_source(source_name: str, device: str) -> DataSource:
    name = " ".join(source_name.split())[:_MAX_NAME_CHARACTERS]
    device_words = " ".join(" ".join(_DEVICE_FIELD.findall(device)).lower().split())
    kind = _type_from(device_words) or _type_from(name.lower()) or ("app" if name else "unknown")
    return DataSource(provider=PROVIDER, type=kind, app_id=name or None)


def _type_from(words: str) -> str | None:
    return next((kind for kind, pattern in _TYPE_WORDS if pattern.search(words)), None)
