"""Imports of Apple Health exports: exact receipts, resumed after a kill, never counted twice, bounded and refused."""

import io
import zipfile
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from aggregation import imports, tasks
from aggregation.imports import ImportState, LeaseLostError, export_import
from aggregation.models import Block, Summary
from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from healthsvc.kernel.typing import JSONObject
from management.jobs import ATTEMPTS_MAXIMUM, job_claim
from management.models import BackgroundJob, StoredFile
from tests import factories
from tests.aggregation.samples import stored
from tests.clients import ApiClient
from users.models import User
from webhooks.models import Event

EXPORT = Path(__file__).resolve().parent.parent / "data" / "apple_health" / "export.xml"


@pytest.fixture(autouse=True)
def _own_files(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    settings.MEDIA_ROOT = tmp_path / "files"
    storage = {**settings.STORAGES["default"], "OPTIONS": {"location": str(tmp_path / "files")}}
    settings.STORAGES = {**settings.STORAGES, "default": storage}


@pytest.fixture
def user(team: factories.Tenant) -> User:
    return factories.user_make(team)


def everything(team: factories.Tenant, user: User) -> tuple[object, list[object]]:
    """All that the store holds of a user, but for ids and times of writing."""
    with team_scope(team.context):
        summaries = Summary.objects.filter(user_id=user.id).order_by("resource", "external_id")
        rows = summaries.values_list("resource", "external_id", "calendar_date", "starts_at", "payload")
        # The id of a night is the store's own, so it differs from user to user.
        bare = [(*row, {key: value for key, value in payload.items() if key != "sleep_id"}) for *row, payload in rows]
        return stored(team.context, user.id, *SAMPLED), [*bare]


def import_directly(team: factories.Tenant, user: User, **values: Any) -> JSONObject:
    with team_scope(team.context):
        return export_import(team=team.context, user_id=user.id, file=EXPORT, **values)[0]


def upload(api: ApiClient, user: User, data: bytes, content_type: str = "application/xml") -> Any:
    return api.request("POST", f"/v2/user/{user.id}/import/apple_health", data=data, content_type=content_type)


def status_of(api: ApiClient, user: User, job_id: str) -> dict[str, Any]:
    answer: dict[str, Any] = api.get(f"/v2/user/{user.id}/import/{job_id}").json()
    return answer


def archive() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.write(EXPORT, "apple_health_export/export.xml")
    return packed.getvalue()


def _rows(*rows: tuple[str, str, int]) -> list[dict[str, object]]:
    return [{"kind": kind, "reason": reason, "count": count} for kind, reason, count in rows]


#: Counted by hand in the file. A night is stored from several records; the sleep stages of all three are read.
RECEIPT: dict[str, Any] = {
    "read": {
        "ActivitySummary": 5,
        "HKCategoryTypeIdentifierAppleStandHour": 1,
        "HKCategoryTypeIdentifierSleepAnalysis": 13,
        "HKCharacteristicTypeIdentifierCardioFitnessMedicationsUse": 1,
        "HKCharacteristicTypeIdentifierDateOfBirth": 1,
        "HKCorrelationTypeIdentifierBloodPressure": 1,
        "HKDataTypeIdentifierAudiogram": 1,
        "HKQuantityTypeIdentifierBloodGlucose": 3,
        "HKQuantityTypeIdentifierBloodPressureDiastolic": 1,
        "HKQuantityTypeIdentifierBloodPressureSystolic": 1,
        "HKQuantityTypeIdentifierBodyMass": 1,
        "HKQuantityTypeIdentifierBodyTemperature": 1,
        "HKQuantityTypeIdentifierDietaryWater": 1,
        "HKQuantityTypeIdentifierHeartRate": 12,
        "HKQuantityTypeIdentifierHeartRateVariabilitySDNN": 1,
        "HKQuantityTypeIdentifierStepCount": 3,
        "HKVisionPrescriptionTypeGlasses": 1,
        "HealthData": 1,
        "HeartRateVariabilityMetadataList": 1,
        "LabResult": 2,
        "Workout": 4,
        "WorkoutStatistics": 1,
        "workout-routes": 1,
    },
    "stored": {
        "activity": 3,
        "blood_pressure": 1,
        "body": 1,
        "body_temperature": 1,
        "device": 3,
        "glucose": 3,
        "heartrate": 6,
        "hrv": 1,
        "profile": 1,
        "sleep": 3,
        "sleep_cycle": 3,
        "stand_hour": 1,
        "steps": 3,
        "water": 1,
        "weight": 1,
        "workouts": 3,
    },
    "replaced": {},
    "unchanged": {},
    "refused": _rows(
        ("ActivitySummary", "bad_date", 1),
        ("ActivitySummary", "out_of_range", 1),
        ("HKCategoryTypeIdentifierSleepAnalysis", "bad_value", 1),
        ("HKCategoryTypeIdentifierSleepAnalysis", "no_sleep_stage", 1),
        ("HKQuantityTypeIdentifierHeartRate", "bad_date", 1),
        ("HKQuantityTypeIdentifierHeartRate", "bad_value", 2),
        ("HKQuantityTypeIdentifierHeartRate", "end_before_start", 1),
        ("HKQuantityTypeIdentifierHeartRate", "out_of_range", 1),
        ("HKQuantityTypeIdentifierHeartRate", "unknown_unit", 1),
        ("HealthData", "malformed", 1),
        ("Workout", "end_before_start", 1),
        ("WorkoutStatistics", "unknown_unit", 1),
    ),
    "left_out": _rows(
        ("HKCharacteristicTypeIdentifierCardioFitnessMedicationsUse", "no_field", 1),
        ("HKDataTypeIdentifierAudiogram", "no_resource", 1),
        ("HKVisionPrescriptionTypeGlasses", "excluded_clinical", 1),
        ("HeartRateVariabilityMetadataList", "no_resource", 1),
        ("LabResult", "excluded_clinical", 2),
        ("workout-routes", "file_missing", 1),
    ),
}
SAMPLED = ("body_temperature", "glucose", "heartrate", "hrv", "stand_hour", "steps", "water", "weight")
#: With one item a batch: eleven series, three workouts, three nights and their stages, a day of measurements, three
#: days, a profile, three devices.
BATCHES = 28


def test_an_upload_is_imported_and_its_receipt_is_exact(api: ApiClient, team: factories.Tenant, user: User) -> None:
    accepted = upload(api, user, EXPORT.read_bytes())
    assert accepted.status_code == 202, accepted.content
    job_id = accepted.json()["job_id"]
    assert accepted.json() == {"job_id": job_id, "status": "queued"}
    assert accepted["Location"] == f"/v2/user/{user.id}/import/{job_id}"
    before = status_of(api, user, job_id)
    size_bytes = EXPORT.stat().st_size
    assert (before["status"], before["progress"], before["receipt"]) == (
        "queued",
        {"done": 0, "total": size_bytes},
        None,
    )
    tasks.apple_health_import(job_id=job_id)
    after = status_of(api, user, job_id)
    assert (after["status"], after["progress"]) == ("succeeded", {"done": size_bytes, "total": size_bytes})
    assert after["receipt"] == RECEIPT
    with team_scope(team.context):
        assert StoredFile.objects.count() == 0
        announced = Event.objects.order_by("event_type").values_list("event_type", flat=True)
        assert list(announced) == [
            f"historical.data.{resource}.created" for resource in RECEIPT["stored"] if resource != "device"
        ]
        with_raw = Summary.objects.exclude(raw=None).values_list("resource", flat=True)
        assert Counter(with_raw) == {"activity": 3, "body": 1, "profile": 1, "sleep": 3, "workouts": 3}


@pytest.mark.parametrize("form", [False, True])
def test_an_archive_may_come_as_the_body_or_in_a_form(
    api: ApiClient, team: factories.Tenant, user: User, form: bool
) -> None:
    data, content_type = archive(), "application/zip"
    if form:
        head = (
            b'--xyz\r\nContent-Disposition: form-data; name="note"\r\n\r\nhello\r\n'
            b'--xyz\r\nContent-Disposition: form-data; name="file"; filename="export.zip"\r\n'
            b"Content-Type: application/zip\r\n\r\n"
        )
        data, content_type = head + data + b"\r\n--xyz--\r\n", "multipart/form-data; boundary=xyz"
    job_id = upload(api, user, data, content_type).json()["job_id"]
    tasks.apple_health_import(job_id=job_id)
    assert status_of(api, user, job_id)["receipt"] == RECEIPT


def test_an_uploaded_file_is_sealed(api: ApiClient, user: User, tmp_path: Path) -> None:
    upload(api, user, EXPORT.read_bytes())
    (kept,) = [path for path in (tmp_path / "files").rglob("*") if path.is_file()]
    assert b"HealthData" not in kept.read_bytes()


def test_importing_again_changes_nothing_and_announces_nothing(
    api: ApiClient, team: factories.Tenant, user: User
) -> None:
    first = import_directly(team, user)
    before = everything(team, user)
    job_id = upload(api, user, EXPORT.read_bytes()).json()["job_id"]
    tasks.apple_health_import(job_id=job_id)
    again = status_of(api, user, job_id)["receipt"]
    assert first == RECEIPT
    assert again == {**RECEIPT, "stored": {}, "unchanged": RECEIPT["stored"]}
    assert everything(team, user) == before
    with team_scope(team.context):
        assert Event.objects.count() == 0


@pytest.mark.parametrize("batch_items", [1, 120, 50_000])
def test_the_receipt_does_not_depend_on_how_the_file_is_cut(
    team: factories.Tenant, user: User, batch_items: int
) -> None:
    assert import_directly(team, user, batch_items=batch_items) == RECEIPT


class KilledError(Exception):
    """The worker dies here."""


@pytest.mark.parametrize("survived", range(BATCHES))
def test_an_import_killed_after_any_batch_goes_on_and_counts_nothing_twice(
    team: factories.Tenant, user: User, survived: int
) -> None:
    whole = factories.user_make(team)
    import_directly(team, whole)
    checkpoints: list[JSONObject] = []

    def die(state: ImportState) -> None:
        if state.batches > survived:
            raise KilledError
        checkpoints.append(state.as_json())

    with pytest.raises(KilledError):
        import_directly(team, user, on_stored=die, batch_items=1)
    kept = orjson.loads(orjson.dumps(checkpoints[-1])) if checkpoints else {}
    resumed = ImportState.from_json(kept)
    assert resumed.batches == survived
    assert import_directly(team, user, state=resumed, batch_items=1) == RECEIPT
    assert everything(team, user) == everything(team, whole)


def full_archive(folder: Path) -> Path:
    """The export with the route it refers to and an electrocardiogram."""
    path = folder / "export.zip"
    points = "".join(
        f'<trkpt lat="52.{second}" lon="13.{second}"><ele>40</ele><time>2024-03-12T22:00:0{second}Z</time></trkpt>'
        for second in range(3)
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.write(EXPORT, "apple_health_export/export.xml")
        file.writestr(
            "apple_health_export/workout-routes/route_2024-03-12_6.32pm.gpx",
            f"<gpx><trk><trkseg>{points}</trkseg></trk></gpx>",
        )
        file.writestr(
            "apple_health_export/electrocardiograms/ecg_2024-03-12.csv",
            "Name,Robin\nRecorded Date,2024-03-12 09:14:40 -0400\nClassification,Sinus Rhythm\nSample Rate,512 hertz\n"
            "\nUnit,µV\n\n1.5\n2.5\n",
        )
    return path


def test_an_archive_with_a_route_and_an_electrocardiogram_survives_any_kill(
    team: factories.Tenant, user: User, tmp_path: Path
) -> None:
    path = full_archive(tmp_path)
    more = {"electrocardiogram": 1, "electrocardiogram_voltage": 2, "workout_stream": 3}
    expected = {
        **RECEIPT,
        "read": {**RECEIPT["read"], "electrocardiograms": 1},
        "stored": {**RECEIPT["stored"], **more},
        "left_out": [row for row in RECEIPT["left_out"] if row["kind"] != "workout-routes"],
    }
    checkpoints: list[JSONObject] = [{}]

    def keep(state: ImportState) -> None:
        checkpoints.append(state.as_json())

    with team_scope(team.context):
        while True:
            state = ImportState.from_json(orjson.loads(orjson.dumps(checkpoints[-1])))
            left = iter(range(4))

            def four(state: ImportState, left: Iterator[int] = left) -> None:
                if next(left, None) is None:
                    raise KilledError
                keep(state)

            try:
                receipt, _ = export_import(
                    team=team.context, user_id=user.id, file=path, state=state, on_stored=four, batch_items=1
                )
                break
            except KilledError:
                continue
        assert receipt == expected
        run = Summary.objects.get(resource="workouts", starts_at="2024-03-12T22:00:00Z")
        assert (run.payload["elev_high"], len(run.payload["map"]["polyline"]) > 0) == (40.0, True)
        night = Summary.objects.filter(resource="sleep").order_by("starts_at")[0]
        stages = Summary.objects.filter(resource="sleep_cycle").order_by("starts_at")[0]
        assert stages.payload["sleep_id"] == str(night.id)


def test_the_birth_date_is_learned_and_the_profile_kept(team: factories.Tenant, user: User) -> None:
    import_directly(team, user)
    with team_scope(team.context):
        user.refresh_from_db()
        assert (user.fallback_birth_date, user.fallback_birth_date_source) == ("1980-01-01", "apple_health_kit")
        assert Summary.objects.get(resource="profile").payload["birth_date"] == "1980-01-01"


def test_a_checkpoint_of_other_batches_is_not_trusted(team: factories.Tenant, user: User) -> None:
    """Another release may cut the file otherwise: then everything is stored again, which changes nothing."""
    states: list[JSONObject] = []
    import_directly(team, user, batch_items=1, on_stored=lambda state: states.append(state.as_json()))
    before = everything(team, user)
    for checkpoint in (states[1], {**states[-1], "batches": 99}):
        receipt = import_directly(team, user, state=ImportState.from_json(checkpoint), batch_items=120)
        assert receipt == {**RECEIPT, "stored": {}, "unchanged": RECEIPT["stored"]}
    assert everything(team, user) == before


def test_a_worker_that_lost_its_lease_writes_nothing_more(api: ApiClient, team: factories.Tenant, user: User) -> None:
    job_id = UUID(upload(api, user, EXPORT.read_bytes()).json()["job_id"])
    slow = job_claim(job_id=job_id)
    assert slow is not None
    with team_scope(team.context):
        BackgroundJob.objects.update(lease_until=clock.now() - timedelta(seconds=1))
        file = StoredFile.objects.get()
    assert job_claim(job_id=job_id) is not None
    with team_scope(team.context), pytest.raises(LeaseLostError):
        imports._work(slow, file)
    assert everything(team, user) == ({}, [])
    with team_scope(team.context):
        BackgroundJob.objects.update(lease_until=clock.now() - timedelta(seconds=1))
    tasks.apple_health_import(job_id=str(job_id))
    assert status_of(api, user, str(job_id))["receipt"] == RECEIPT


def test_a_job_that_another_worker_holds_is_left_alone(api: ApiClient, team: factories.Tenant, user: User) -> None:
    job_id = upload(api, user, EXPORT.read_bytes()).json()["job_id"]
    assert job_claim(job_id=UUID(job_id)) is not None
    tasks.apple_health_import(job_id=job_id)
    assert status_of(api, user, job_id)["status"] == "running"


def test_jobs_left_behind_are_taken_up_by_the_sweep(api: ApiClient, team: factories.Tenant, user: User) -> None:
    job_id = UUID(upload(api, user, EXPORT.read_bytes()).json()["job_id"])
    assert imports.imports_sweep() == []
    with team_scope(team.context):
        BackgroundJob.objects.update(created_at=clock.now() - timedelta(minutes=5))
    assert imports.imports_sweep() == [job_id]
    assert job_claim(job_id=job_id) is not None
    assert imports.imports_sweep() == []
    with team_scope(team.context):
        BackgroundJob.objects.update(lease_until=clock.now() - timedelta(seconds=1))
    assert imports.imports_sweep() == [job_id]
    tasks.jobs_sweep()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"<html/>", "not_an_export"),
        (b"PK\x03\x04broken", "unreadable_archive"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><HealthData/>', "entities_forbidden"),
        (b"<HealthData><Record type='HKQuantityTypeIdentifierHeartRate' ", "nothing_readable"),
        (b"<HealthData>" + b"<Record <" * 50 + b"</HealthData>", "nothing_readable"),
        (b"<HealthData></HealthData>", "nothing_readable"),
    ],
)
def test_a_file_that_is_no_export_fails_with_a_code(
    api: ApiClient, team: factories.Tenant, user: User, data: bytes, code: str
) -> None:
    job_id = upload(api, user, data).json()["job_id"]
    tasks.apple_health_import(job_id=job_id)
    answer = status_of(api, user, job_id)
    assert (answer["status"], answer["error_code"], answer["receipt"]) == ("failed", code, None)
    with team_scope(team.context):
        assert StoredFile.objects.count() == 0


def test_an_import_of_a_user_who_is_gone_or_that_kills_every_worker_is_given_up(
    api: ApiClient, team: factories.Tenant, user: User
) -> None:
    def failing(**values: Any) -> str:
        job_id: str = upload(api, user, EXPORT.read_bytes()).json()["job_id"]
        with team_scope(team.context):
            BackgroundJob.objects.filter(pk=job_id).update(**values)
            if not values:
                User.objects.update(deleted_at=clock.now())
        tasks.apple_health_import(job_id=job_id)
        with team_scope(team.context):
            return BackgroundJob.objects.get(pk=job_id).error_code

    assert failing(attempts=ATTEMPTS_MAXIMUM) == "given_up"
    assert failing(parameters={"file_id": str(uuid4())}) == "file_lost"
    assert failing() == "user_gone"
    with team_scope(team.context):
        assert (Block.objects.count(), Summary.objects.count()) == (0, 0)


@pytest.mark.parametrize(
    ("data", "content_type", "status"),
    [
        (
            b'--xyz\r\nContent-Disposition: form-data; name="note"\r\n\r\nhi\r\n--xyz--',
            "multipart/form-data; boundary=xyz",
            422,
        ),
        (
            b'--xyz\r\nContent-Disposition: form-data; name="file"; filename="e.xml"\r\n\r\n<HealthData>\r\n',
            "multipart/form-data; boundary=xyz",
            422,
        ),
        (
            b'--xyz\r\nContent-Disposition: form-data; name="file"; filename="e.xml"\r\n\r\n<HealthData>\r\n--xyz\r\n',
            "multipart/form-data; boundary=xyz",
            422,
        ),
        (b"{}", "application/json", 415),
        (b"no parts", "multipart/form-data; boundary=xyz", 422),
        (b"no boundary", "multipart/form-data", 422),
        (b"x" * 2_000, "application/zip", 413),
    ],
)
def test_a_wrong_upload_leaves_no_job(
    api: ApiClient,
    team: factories.Tenant,
    user: User,
    settings: Settings,
    tmp_path: Path,
    data: bytes,
    content_type: str,
    status: int,
) -> None:
    settings.EXPORT_MAXIMUM_BYTES = 1_000
    assert upload(api, user, data, content_type).status_code == status
    with team_scope(team.context):
        assert (BackgroundJob.objects.count(), StoredFile.objects.count()) == (0, 0)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_another_team_can_neither_import_nor_look(
    api: ApiClient, other_api: ApiClient, other_team: factories.Tenant, user: User
) -> None:
    job_id = upload(api, user, EXPORT.read_bytes()).json()["job_id"]
    stranger = factories.user_make(other_team)
    assert upload(other_api, user, EXPORT.read_bytes()).status_code == 404
    for user_id, wanted in ((user.id, job_id), (stranger.id, job_id), (stranger.id, uuid4())):
        response = other_api.get(f"/v2/user/{user_id}/import/{wanted}")
        assert (response.status_code, response.json()["code"]) == (404, "not_found")
    assert api.get(f"/v2/user/{factories.user_make(other_team).id}/import/{job_id}").status_code == 404


def test_the_command_does_the_same_and_prints_the_receipt(
    team: factories.Tenant, user: User, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("import_apple_health", str(user.id), str(EXPORT), "--json")
    assert orjson.loads(capsys.readouterr().out) == RECEIPT
    call_command("import_apple_health", str(user.id), str(EXPORT))
    printed = capsys.readouterr()
    assert "unchanged  heartrate  6" in printed.out
    assert "left_out  LabResult  excluded_clinical  2" in printed.out
    assert "refused  Workout  end_before_start  1" in printed.out
    assert "22.3k/22.3k" in printed.err


def test_the_command_refuses_in_a_sentence(user: User, tmp_path: Path) -> None:
    broken = tmp_path / "broken.xml"
    broken.write_text("<html/>")
    for user_id, path, words in (
        (str(user.id), tmp_path / "nothing.zip", "no such file"),
        (str(user.id), broken, "no Apple Health export"),
        (str(uuid4()), EXPORT, "nothing at this address"),
        ("nobody", EXPORT, "Not a UUID"),
    ):
        with pytest.raises(CommandError, match=words):
            call_command("import_apple_health", user_id, str(path), "--json")
