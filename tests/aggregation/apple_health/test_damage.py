"""Broken, truncated and hostile XML: neighbours survive, memory is bounded, nothing else is raised."""

import io
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aggregation.apple_health.limits import ExportLimits, ExportRefusalCode, ExportRefusedError
from aggregation.apple_health.reader import read_export
from aggregation.apple_health.tally import ExportTally
from aggregation.records import SeriesBatch, SummaryRecord
from tests.aggregation.apple_health.generate import write_export
from tests.aggregation.apple_health.reading import EXPORT_XML, Reading, document, heart_rate, read

HEART = "HKQuantityTypeIdentifierHeartRate"
EXPORT = EXPORT_XML.read_bytes()
_PACKED = io.BytesIO()
with zipfile.ZipFile(_PACKED, "w", zipfile.ZIP_DEFLATED) as _archive:
    _archive.writestr("apple_health_export/export.xml", EXPORT)
ZIPPED = _PACKED.getvalue()


def test_the_broken_document_type_of_ios_16_is_skipped() -> None:
    prolog = b"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE HealthData [
<!ATTLIST VisionPrescription
  type             CDATA #REQUIRED
  expirationDate   CDATA #IMPLIED
<!ELEMENT RightEye EMPTY>
  sphere           CDATA #IMPLIED
>
]>
"""
    body = document(heart_rate("60")).partition(b"\n")[2]
    reading = read(prolog + body)
    assert reading.values("heartrate") == [60.0]
    assert reading.refused() == {}


@pytest.mark.parametrize(
    "declaration",
    [
        b'<!DOCTYPE HealthData [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]>',
        b'<!DOCTYPE HealthData [<!ENTITY x SYSTEM "file:///etc/hostname">]>',
        b'<!DOCTYPE HealthData [<!ENTITY % p SYSTEM "http://example.test/p.dtd"> %p;]>',
        b'<!DOCTYPE HealthData SYSTEM "http://example.test/health.dtd">',
        b'<!DOCTYPE HealthData PUBLIC "-//X" "http://example.test/health.dtd">',
    ],
)
def test_entity_declarations_and_external_types_are_refused(declaration: bytes) -> None:
    with pytest.raises(ExportRefusedError) as caught:
        read(declaration + document(heart_rate("&b;")).partition(b"\n")[2])
    assert caught.value.code is ExportRefusalCode.ENTITIES_FORBIDDEN


def test_an_undeclared_entity_costs_its_record_only() -> None:
    reading = read(document(heart_rate("60"), heart_rate("&lol;"), heart_rate("62")))
    assert reading.values("heartrate") == [60.0, 62.0]
    assert reading.refused() == {("HealthData", "malformed"): 1}


def test_a_document_type_inside_the_root_is_no_way_in() -> None:
    inner = '<!DOCTYPE HealthData [<!ENTITY a "60">]>'
    reading = read(document(heart_rate("60"), inner, heart_rate("62")))
    assert reading.values("heartrate") == [60.0, 62.0]
    assert reading.refused() == {("HealthData", "malformed"): 1}


@pytest.mark.parametrize(
    "broken",
    [
        '<Record type="x" Health Mate App Version="2.6.0"/>',
        '<Record type="x" type="y"/>',
        '<Record type="x" value="1/>',
        "<Record type='x'",
        "<Record type='x'><MetadataEntry></Record>",
        "<Record type='&#11;'/>",
        "</Workout>",
        heart_rate("61").replace("/>", ">"),
        heart_rate("61").replace("/>", "><MetadataEntry key='a' value='b'>"),
        "<!DOCTYPE HealthData []>",
        "<" + "a><" * 40 + "b>",
        "& alone",
    ],
)
def test_a_broken_element_does_not_take_its_neighbours_down(broken: str) -> None:
    reading = read(document(heart_rate("60"), broken, heart_rate("62"), heart_rate("63")))
    assert reading.values("heartrate") == [60.0, 62.0, 63.0]
    assert reading.refused() == {("HealthData", "malformed"): 1}


def test_a_correlation_without_end_gives_way_to_the_next_workout() -> None:
    reading = read(document("<Correlation type='x'><Record type='x'/><Workout/>", heart_rate("60")))
    assert reading.values("heartrate") == [60.0]
    assert reading.refused() == {("HealthData", "malformed"): 1, ("Workout", "bad_date"): 1}


def test_control_characters_and_broken_utf_8_are_replaced() -> None:
    content = document(heart_rate("60", source="Wa\x0btch"), heart_rate("61")).replace(b'="61"', b'="61" x="\xff"')
    reading = read(content)
    assert [batch.source.app_id for batch in reading.batches] == ["Wa tch", "Watch"]
    assert reading.values("heartrate") == [60.0, 61.0]
    assert reading.refused() == {}


def test_reading_in_small_pieces_gives_the_same() -> None:
    whole = read(EXPORT)
    for size in (1, 7, 61):
        pieces = read(EXPORT, ExportLimits(read_bytes=size))
        assert pieces.summaries == whole.summaries
        assert pieces.values("heartrate") == whole.values("heartrate")
        assert pieces.tally == whole.tally


def test_a_truncated_file_is_read_as_far_as_it_goes() -> None:
    content = document(heart_rate("60"), heart_rate("61"), heart_rate("62"))
    reading = read(content[: content.index(b'value="62"')])
    assert reading.values("heartrate") == [60.0, 61.0]
    assert reading.refused() == {("HealthData", "truncated"): 1}


def test_an_archive_that_breaks_off_inside_is_read_as_far_as_it_goes() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("export.xml", document(*[heart_rate("60")] * 100))
    damaged = out.getvalue().replace(b'value="60"', b'value="61"')
    reading = read(damaged, ExportLimits(read_bytes=512))
    assert set(reading.values("heartrate")) == {61.0}
    assert reading.refused() == {("HealthData", "truncated"): 1}


def test_too_many_broken_places_end_the_reading() -> None:
    content = document(*["<Record &/>", heart_rate("60")] * 10)
    reading = read(content, ExportLimits(max_malformed=3))
    assert reading.values("heartrate") == [60.0, 60.0]
    assert reading.refused() == {("HealthData", "malformed"): 3, ("HealthData", "truncated"): 1}


def test_type_names_in_the_receipt_are_bounded() -> None:
    records = [f'<Record type="Type{number}"/>' for number in range(20)]
    reading = read(document(*records, '<Record type="a person&apos;s note"/>'), ExportLimits(max_kinds=5))
    assert reading.left_out() == {("other", "unknown_type"): 16} | {
        (f"Type{number}", "unknown_type"): 1 for number in range(5)
    }


def peak_bytes(path: Path, limits: ExportLimits | None = None) -> tuple[int, Reading]:
    """Peak of traced memory over reading a file whose samples are thrown away."""
    reading = Reading()
    tracemalloc.start()
    try:
        for item in read_export(path, tally=reading.tally, limits=limits or ExportLimits()):
            if isinstance(item, SummaryRecord):
                reading.summaries.append(item)
        return tracemalloc.get_traced_memory()[1], reading
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "export.xml"
    with path.open("wb") as out:
        size = write_export(out, 200_000)
    assert size == path.stat().st_size == 74_366_698
    peak, reading = peak_bytes(path)
    assert reading.tally.read == {
        HEART: 140_000,
        "HKQuantityTypeIdentifierStepCount": 40_000,
        "HKCategoryTypeIdentifierSleepAnalysis": 20_000,
    }
    assert reading.refused() == {}
    assert len(reading.of("sleep")) == 1_250
    assert peak < 16 * 1024 * 1024


@pytest.mark.parametrize(
    ("hostile", "malformed"),
    [
        (b'<Record value="' + b"x" * 6_000_000, 1),
        (b"<!-- " + b"x" * 6_000_000, 1),
        (b"<Record>" + b"<a>" * 2_000_000, 1),
        (b"".join(b"<Record a%d='1'/>" % number for number in range(100_000)), 8),
        (b"".join(b"<n%d/>" % number for number in range(500_000)), 1),
    ],
    ids=["attribute", "comment", "depth", "attribute names", "element names"],
)
def test_hostile_documents_stay_in_bounds(hostile: bytes, malformed: int, tmp_path: Path) -> None:
    path = tmp_path / "export.xml"
    path.write_bytes(b"<HealthData>" + hostile + document(heart_rate("60"))[22:])
    peak, reading = peak_bytes(path)
    assert reading.refused().get(("HealthData", "malformed"), 0) == malformed
    assert peak < 12 * 1024 * 1024


@settings(max_examples=300, deadline=None)
@given(
    flips=st.lists(st.tuples(st.integers(0, len(EXPORT) - 1), st.integers(0, 255)), min_size=1, max_size=20),
    end=st.integers(0, len(EXPORT)),
)
def test_flipped_bytes_raise_nothing_but_the_declared_error(flips: list[tuple[int, int]], end: int) -> None:
    content = bytearray(EXPORT)
    for position, value in flips:
        content[position] = value
    for damaged in (bytes(content), bytes(content[:end])):
        tally = ExportTally()
        try:
            items = list(read_export(io.BytesIO(damaged), tally=tally, limits=ExportLimits(read_bytes=4_096)))
        except ExportRefusedError:
            continue
        assert sum(refusal.count for refusal in tally.refusals()) <= tally.read.total()
        assert all(len(item.samples) > 0 for item in items if isinstance(item, SeriesBatch))


@settings(max_examples=300, deadline=None)
@given(
    flips=st.lists(st.tuples(st.integers(0, len(ZIPPED) - 1), st.integers(0, 255)), min_size=1, max_size=8),
    end=st.integers(0, len(ZIPPED)),
)
def test_flipped_bytes_of_an_archive_raise_nothing_else_either(flips: list[tuple[int, int]], end: int) -> None:
    content = bytearray(ZIPPED)
    for position, value in flips:
        content[position] = value
    for damaged in (bytes(content), bytes(content[:end])):
        try:
            read(damaged)
        except ExportRefusedError:
            continue


@pytest.mark.parametrize("piece_bytes", [1, 7, 100_000])
def test_a_tag_that_became_an_instruction_costs_itself_alone(piece_bytes: int) -> None:
    content = EXPORT.replace(b"<Record", b"<?ecord", 1)
    tally = ExportTally()
    items = list(read_export(io.BytesIO(content), tally=tally, limits=ExportLimits(read_bytes=piece_bytes)))
    assert sum(len(one.samples) if isinstance(one, SeriesBatch) else 1 for one in items) >= 22
    assert sum(refusal.count for refusal in tally.refusals()) >= 1


@settings(max_examples=100, deadline=None)
@given(position=st.integers(EXPORT.index(b"<Record"), len(EXPORT) - 20), value=st.integers(0, 255))
@example(position=EXPORT.index(b"<Record") + 1, value=ord("?"))
def test_one_flipped_byte_costs_one_item_of_23_at_most(position: int, value: int) -> None:
    content = bytearray(EXPORT)
    content[position] = value
    reading = read(bytes(content))
    assert len(reading.summaries) + sum(len(batch.samples) for batch in reading.batches) >= 22
