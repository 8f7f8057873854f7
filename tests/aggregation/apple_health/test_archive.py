"""Finding export.xml in archives, honest and hostile."""

import io
import zipfile
from pathlib import Path

import pytest

from aggregation.apple_health.limits import ExportLimits, ExportRefusalCode, ExportRefusedError
from aggregation.apple_health.reader import read_export
from aggregation.apple_health.tally import ExportTally
from tests.aggregation.apple_health.reading import EXPORT_XML, document, heart_rate, read

CDA = b'<?xml version="1.0"?><ClinicalDocument xmlns="urn:hl7-org:v3"></ClinicalDocument>' + b" " * 9_000


def packed(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def refusal(content: bytes, limits: ExportLimits | None = None) -> ExportRefusalCode:
    with pytest.raises(ExportRefusedError) as caught:
        read(content, limits)
    return caught.value.code


@pytest.mark.parametrize("name", ["export.xml", "apple_health_export/Export.xml", "a/b/exportação.xml", "导出.XML"])
@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_finds_the_export_under_any_name(name: str, method: int) -> None:
    reading = read(packed({"apple_health_export/export_cda.xml": CDA, name: document(heart_rate("60"))}, method))
    assert reading.values("heartrate") == [60.0]
    assert reading.refused() == {}
    assert reading.left_out() == {("export_cda.xml", "excluded_clinical"): 1}


def test_the_archive_gives_what_the_bare_file_gives(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    path.write_bytes(packed({"apple_health_export/export.xml": EXPORT_XML.read_bytes()}))
    from_archive, bare = read(path), read(EXPORT_XML)
    assert from_archive.summaries == bare.summaries
    assert from_archive.values("heartrate") == bare.values("heartrate")
    assert from_archive.tally == bare.tally
    assert from_archive.left_out()["workout-routes", "file_missing"] == 1


def test_the_largest_with_the_right_root_wins_and_other_files_are_named() -> None:
    reading = read(
        packed(
            {
                "x/small.xml": document(heart_rate("50")),
                "x/export.xml": document(heart_rate("60"), heart_rate("61")),
                "x/other.xml": b"<notes>" + b" " * 5_000 + b"</notes>",
                "x/workout-routes/route_2024-03-12_6.32pm.gpx": b"<gpx/>",
                "x/workout-routes/route_2024-03-13_6.32pm.gpx": b"<gpx/>",
                "x/electrocardiograms/ecg_2024-03-12.csv": b"Name,",
                "x/clinical-records/LabResult-1.json": b"{}",
            }
        )
    )
    assert reading.values("heartrate") == [60.0, 61.0]
    assert reading.refused() == {("electrocardiograms", "bad_date"): 1}
    assert reading.left_out() == {("workout-routes", "not_referenced"): 2, ("clinical-records", "excluded_clinical"): 1}


def test_what_is_no_export_is_refused() -> None:
    assert refusal(b"") is ExportRefusalCode.NOT_AN_EXPORT
    assert refusal(b"%PDF-1.7 and more") is ExportRefusalCode.NOT_AN_EXPORT
    assert refusal(b"<html><HealthData></HealthData></html>") is ExportRefusalCode.NOT_AN_EXPORT
    assert refusal("<HealthData></HealthData>".encode("utf-16")) is ExportRefusalCode.NOT_AN_EXPORT
    assert refusal(packed({"export_cda.xml": CDA, "a.txt": b"x"})) is ExportRefusalCode.NOT_AN_EXPORT
    assert refusal(b"PK\x03\x04 and nothing else") is ExportRefusalCode.UNREADABLE_ARCHIVE
    assert refusal(packed({"e.xml": document()}, zipfile.ZIP_LZMA)) is ExportRefusalCode.UNREADABLE_ARCHIVE


def test_a_prolog_without_end_is_refused() -> None:
    assert refusal(b"<!-- " + b"x" * 3_000, ExportLimits(max_prolog_bytes=1_000)) is ExportRefusalCode.NOT_AN_EXPORT


def test_an_archive_that_would_inflate_past_the_bound_is_refused_before_inflating() -> None:
    bomb = packed({"export.xml": document(heart_rate("60")) + b" " * 5_000_000})
    assert len(bomb) < 10_000
    assert refusal(bomb, ExportLimits(max_xml_bytes=1_000_000)) is ExportRefusalCode.TOO_LARGE
    assert refusal(document() + b" " * 2_000_000, ExportLimits(max_xml_bytes=1_000_000)) is ExportRefusalCode.TOO_LARGE


def test_an_archive_that_lies_about_its_size_is_cut_there() -> None:
    content = document(*[heart_rate("60")] * 10_000)
    archive = bytearray(packed({"export.xml": content}))
    told = (100_000).to_bytes(4, "little")
    true = len(content).to_bytes(4, "little")
    assert archive.count(true) == 2
    reading = read(bytes(archive.replace(true, told)), ExportLimits(read_bytes=4_096))
    assert reading.tally.bytes_read <= 100_000
    assert 0 < len(reading.values("heartrate")) < 600
    assert reading.refused() == {("HealthData", "truncated"): 1}


def test_a_huge_directory_is_refused() -> None:
    many = packed({f"{number:05d}.txt": b"" for number in range(500)})
    assert refusal(many, ExportLimits(max_directory_bytes=10_000)) is ExportRefusalCode.TOO_LARGE


def test_a_stream_stays_open() -> None:
    stream = io.BytesIO(packed({"export.xml": document(heart_rate("60"))}))
    stream.seek(5)
    items = list(read_export(stream, tally=ExportTally()))
    assert [item.resource for item in items] == ["heartrate"]
    assert not stream.closed
