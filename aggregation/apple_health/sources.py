"""Who recorded a record: Apple's `sourceName` and `device` texts as one of the API's sources, with its device.

An export names no bundle ids, so `app_id` is the source's name as the phone shows it, with white space evened out
(Apple writes a no-break space inside "Apple Watch"). It keeps overlapping sources apart: two watches, or a watch
and a phone, are two series. `device_id` is made of name, maker, model and hardware, so that it is the same in every
export and stays the same when the device's software changes.
"""

import re
import uuid
from dataclasses import dataclass
from functools import lru_cache

from aggregation.records import DataSource

PROVIDER = "apple_health_kit"
_MAX_NAME_CHARACTERS = 200
_MAX_PART_CHARACTERS = 100
_DEVICES = uuid.UUID("c7f1a0a4-5d0b-5b0e-8a3c-8a1d0c6f2e55")

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
_DEVICE_FIELD = re.compile(r"(name|manufacturer|model|hardware|software|firmware):(.*?)(?=, [a-zA-Z ]+:|>?$)")
_NAMING = ("name", "manufacturer", "model", "hardware")


@dataclass(frozen=True, slots=True)
class Device:
    """A device as HealthKit describes it; a part it does not name is empty."""

    id: str
    manufacturer: str
    model: str
    version: str


def data_source(source_name: str | None, device: str | None) -> tuple[DataSource, Device | None]:
    """The source of a record from its two attributes, and its device where it names one; cached, for an export
    repeats a handful of them."""
    # The device text starts with the address the object had in the phone's memory, another one in every export.
    return _described(source_name or "", (device or "").partition(">")[2])


@lru_cache(maxsize=1024)
def _described(source_name: str, device_text: str) -> tuple[DataSource, Device | None]:
    name = " ".join(source_name.split())[:_MAX_NAME_CHARACTERS]
    parts = {part: " ".join(text.split())[:_MAX_PART_CHARACTERS] for part, text in _DEVICE_FIELD.findall(device_text)}
    device = _device(parts)
    words = " ".join(parts.get(part, "") for part in _NAMING).lower()
    kind = _type_from(words) or _type_from(name.lower()) or ("app" if name else "unknown")
    return DataSource(PROVIDER, kind, name or None, device.id if device else None), device


def _device(parts: dict[str, str]) -> Device | None:
    named = [parts.get(part, "") for part in _NAMING]
    if not any(named):
        return None
    return Device(
        id=str(uuid.uuid5(_DEVICES, "\x1f".join(named))),
        manufacturer=parts.get("manufacturer", ""),
        # Apple's own devices are told apart by their hardware ("Watch6,2"), their model is a family ("Watch").
        model=parts.get("hardware") or parts.get("model") or parts.get("name", ""),
        version=parts.get("software") or parts.get("firmware", ""),
    )


def _type_from(words: str) -> str | None:
    return next((kind for kind, pattern in _TYPE_WORDS if pattern.search(words)), None)
