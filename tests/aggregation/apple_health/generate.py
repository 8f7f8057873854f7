"""Writes an Apple Health export.xml of any size, the same bytes for the same arguments, for soak and bench runs."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import BinaryIO

HEADER = b"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE HealthData [
<!-- HealthKit Export Version: 14 -->
<!ELEMENT HealthData (ExportDate,Me,(Record|Workout|ActivitySummary)*)>
<!ATTLIST HealthData
  locale CDATA #REQUIRED
>
]>
<HealthData locale="en_US">
 <ExportDate value="2025-01-01 09:00:00 +0000"/>
"""
FOOTER = b"</HealthData>\n"

FIRST_AT = datetime(2020, 1, 1, tzinfo=UTC)
WATCH = (
    "&lt;&lt;HKDevice: 0x302ab4c80&gt;, name:Apple Watch, manufacturer:Apple Inc., model:Watch, "
    "hardware:Watch6,2, software:9.1&gt;"
)
PHONE = (
    "&lt;&lt;HKDevice: 0x302ab4d20&gt;, name:iPhone, manufacturer:Apple Inc., model:iPhone, "
    "hardware:iPhone14,2, software:17.1&gt;"
)


def _record(kind: str, source: str, device: str, unit: str, start: datetime, seconds: int, value: str) -> str:
    start_text = start.strftime("%Y-%m-%d %H:%M:%S +0000")
    end_text = (start + timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M:%S +0000")
    unit_text = f' unit="{unit}"' if unit else ""
    return (
        f' <Record type="{kind}" sourceName="{source}" sourceVersion="9.1" device="{device}"{unit_text}'
        f' creationDate="{end_text}" startDate="{start_text}" endDate="{end_text}" value="{value}"/>\n'
    )


def records(count: int, *, seed: int = 0) -> Iterator[str]:
    """`count` records: of ten, seven heart rates, two step counts (watch and phone), one sleep stage.

    Heart rates are five seconds apart, steps a minute, sleep stages half an hour with eight hours a night.
    """
    chance = random.Random(seed)
    stages = ("Core", "Deep", "REM", "Core")
    for index in range(count):
        group, place = divmod(index, 10)
        if place < 7:
            at = FIRST_AT + timedelta(seconds=5 * (group * 7 + place))
            pulse = str(chance.randrange(45, 180))
            yield _record("HKQuantityTypeIdentifierHeartRate", "Watch", WATCH, "count/min", at, 0, pulse)
        elif place < 9:
            at = FIRST_AT + timedelta(minutes=group)
            name, device = ("Watch", WATCH) if place == 7 else ("Phone", PHONE)
            steps = str(chance.randrange(0, 140))
            yield _record("HKQuantityTypeIdentifierStepCount", name, device, "count", at, 60, steps)
        else:
            night, stage = divmod(group, 16)
            at = FIRST_AT + timedelta(days=night, minutes=30 * stage)
            value = f"HKCategoryValueSleepAnalysisAsleep{stages[stage % 4]}"
            yield _record("HKCategoryTypeIdentifierSleepAnalysis", "Watch", WATCH, "", at, 1800, value)


def write_export(out: BinaryIO, record_count: int, *, seed: int = 0) -> int:
    """Writes an export of `record_count` records (about 340 bytes each); answers the bytes written."""
    written = out.write(HEADER)
    lines: list[str] = []
    for line in records(record_count, seed=seed):
        lines.append(line)
        if len(lines) == 1_000:
            written += out.write("".join(lines).encode())
            lines.clear()
    return written + out.write("".join(lines).encode()) + out.write(FOOTER)
