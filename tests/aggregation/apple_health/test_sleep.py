"""How intervals become nights."""

from aggregation.apple_health.limits import ExportLimits
from tests.aggregation.apple_health.reading import Reading, document, read, sleep

SLEEP = "HKCategoryTypeIdentifierSleepAnalysis"


def spans(reading: Reading) -> list[tuple[str, str]]:
    return [
        (f"{night.starts_at:%d %H:%M}", f"{night.ends_at:%d %H:%M}")
        for night in reading.of("sleep")
        if night.starts_at is not None
    ]


def test_an_hour_without_a_record_ends_a_session_and_not_a_second_less() -> None:
    together = read(document(sleep("00:00", "01:00", "AsleepCore"), sleep("02:00", "03:00", "AsleepCore")))
    assert spans(together) == [("20 00:00", "20 03:00")]
    apart = read(document(sleep("02:01", "03:00", "AsleepCore"), sleep("00:00", "01:00", "AsleepCore")))
    assert spans(apart) == [("20 00:00", "20 01:00"), ("20 02:01", "20 03:00")]


def test_the_gap_counts_from_the_latest_end_so_far() -> None:
    reading = read(
        document(
            sleep("00:00", "06:00", "InBed"),
            sleep("00:30", "01:00", "AsleepCore"),
            sleep("06:30", "07:00", "AsleepCore"),
        )
    )
    assert spans(reading) == [("20 00:00", "20 07:00")]


def test_overlapping_records_count_a_moment_once() -> None:
    reading = read(
        document(
            sleep("00:00", "08:00", "InBed"),
            sleep("00:10", "07:50", "AsleepUnspecified"),
            sleep("01:00", "02:00", "AsleepDeep"),
            sleep("01:30", "02:30", "AsleepREM"),
            sleep("03:00", "03:20", "Awake"),
            sleep("03:00", "03:20", "Awake"),
        )
    )
    fields = reading.of("sleep")[0].fields
    assert fields["deep"] == 3_600
    assert fields["rem"] == 1_800
    assert fields["light"] == 0
    assert fields["total"] == 460 * 60 - 1_200
    assert fields["awake"] == 1_200 + 20 * 60
    assert fields["duration"] == 28_800
    assert fields["latency"] == 600


def test_latency_waits_for_five_minutes_of_sleep() -> None:
    reading = read(
        document(
            sleep("00:00", "00:20", "Awake"),
            sleep("00:20", "00:24", "AsleepCore"),
            sleep("00:24", "00:30", "Awake"),
            sleep("00:30", "00:33", "AsleepCore"),
            sleep("00:33", "04:00", "AsleepDeep"),
        )
    )
    assert reading.of("sleep")[0].fields["latency"] == 1_800


def test_three_hours_make_a_long_sleep() -> None:
    assert read(document(sleep("00:00", "03:00", "AsleepCore"))).of("sleep")[0].fields["type"] == "long_sleep"
    assert read(document(sleep("00:00", "02:59", "AsleepCore"))).of("sleep")[0].fields["type"] == "short_sleep"


def test_sources_are_grouped_by_themselves() -> None:
    reading = read(
        document(
            sleep("00:00", "04:00", "AsleepCore", source="Watch"),
            sleep("00:30", "05:00", "AsleepCore", source="Oura"),
        )
    )
    assert [(night.source.type, night.fields["total"]) for night in reading.of("sleep")] == [
        ("watch", 14_400),
        ("ring", 16_200),
    ]


def test_empty_and_endless_intervals_are_refused() -> None:
    reading = read(document(sleep("01:00", "01:00", "AsleepCore"), sleep("10 01:00", "12 01:00", "AsleepCore")))
    assert reading.of("sleep") == []
    assert reading.refused() == {(SLEEP, "end_before_start"): 1, (SLEEP, "out_of_range"): 1}


def test_the_buffer_is_bounded_in_intervals_and_sources() -> None:
    records = [sleep(f"0{hour}:00", f"0{hour}:30", "AsleepCore") for hour in range(4)]
    few = read(document(*records), ExportLimits(max_sleep_intervals=3))
    assert few.of("sleep")[0].fields["total"] == 5_400
    assert few.refused() == {(SLEEP, "too_many"): 1}
    two = document(records[0], sleep("00:00", "01:00", "AsleepCore", source="Oura"), records[1])
    one_source = read(two, ExportLimits(max_sleep_sources=1))
    assert one_source.of("sleep")[0].fields["total"] == 3_600
    assert one_source.refused() == {(SLEEP, "too_many"): 1}


def test_a_longer_chain_than_any_night_is_cut() -> None:
    minutes = [
        sleep(
            f"{20 + m // 1440} {m // 60 % 24:02d}:{m % 60:02d}",
            f"{20 + (m + 1) // 1440} {(m + 1) // 60 % 24:02d}:{(m + 1) % 60:02d}",
            "AsleepCore",
        )
        for m in range(2_001)
    ]
    assert [night.fields["total"] for night in read(document(*minutes)).of("sleep")] == [120_000, 60]
