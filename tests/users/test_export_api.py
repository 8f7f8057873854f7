"""Exports over HTTP: asked for, listed, downloaded with a key or a signed address, closed to everybody else."""

from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from management.models import AccessRecord, Team
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.users.erasing import deleted, later
from tests.users.exporting import archive_bytes, asked, made, reloaded, unpacked
from users.models import Export, User
from users.services.exports import export_run

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_files(settings: Settings, tmp_path: Path) -> None:
    storage = {**settings.STORAGES["default"], "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = {**settings.STORAGES, "default": storage}


@pytest.fixture
def user(team: Tenant) -> User:
    """Whose data are exported."""
    return user_make(team)


def path_of(export: Export, more: str = "") -> str:
    """Its address."""
    return f"/v2/user/{export.user_id}/export/{export.pk}{more}"


def content_of(answer: object) -> bytes:
    """A streamed body."""
    return b"".join(answer.streaming_content)  # type: ignore[attr-defined]


def signed(api: ApiClient, export: Export) -> str:
    """The path and query of a signed address."""
    url: str = api.get(path_of(export)).json()["download_url"]
    assert url.startswith("http://localhost:8000/v2/user/")
    return url.removeprefix("http://localhost:8000")


def test_an_export_is_asked_for_made_and_downloaded(api: ApiClient, team: Tenant, user: User) -> None:
    answer = api.post(f"/v2/user/{user.id}/export")
    export_id = answer.json()["export_id"]
    assert (answer.status_code, answer["Location"]) == (202, f"/v2/user/{user.id}/export/{export_id}")
    assert (answer.json()["status"], answer.json()["download_url"]) == ("queued", None)
    again = api.post(f"/v2/user/{user.id}/export")
    assert (again.status_code, again.json()) == (200, answer.json())
    with team_scope(team.context):
        export = Export.objects.get(pk=export_id)
    assert api.get(path_of(export, "/download")).status_code == 409
    export_run(job_id=export.job_id)
    export = reloaded(export)
    shown = api.get(path_of(export)).json()
    assert (shown["status"], shown["size_bytes"]) == ("ready", export.size_bytes)
    assert shown["progress"]["parts_done"] == shown["progress"]["parts_total"] > 0
    assert shown["progress"]["records"] == export.records
    download = api.get(path_of(export, "/download"))
    assert (download.status_code, download["Content-Type"]) == (200, "application/zip")
    assert download["Content-Disposition"].startswith(f'attachment; filename="user-{user.id}-')
    content = content_of(download)
    assert (len(content), download["Content-Length"]) == (export.size_bytes, str(export.size_bytes))
    assert content == archive_bytes(export)
    assert unpacked(content).manifest["export_id"] == export_id


def test_a_signed_address_opens_its_archive_for_a_quarter_of_an_hour(api: ApiClient, team: Tenant, user: User) -> None:
    export = made(team, user.id)
    address = signed(api, export)
    stranger = ApiClient()
    download = stranger.get(address)
    assert (download.status_code, content_of(download)) == (200, archive_bytes(export))
    assert stranger.get(path_of(export, "/download")).status_code == 401
    with later(890):
        assert stranger.get(address).status_code == 200
    with later(901):
        assert stranger.get(address).status_code == 401
        # The token counts before the key.
        assert api.get(address).status_code == 401


def test_a_signed_address_lives_no_longer_than_its_archive(api: ApiClient, team: Tenant, user: User) -> None:
    export = made(team, user.id)
    soon = clock.now() + timedelta(seconds=60)
    with team_scope(team.context):
        Export.objects.update(expires_at=soon)
    until = api.get(path_of(export)).json()["download_expires_at"]
    assert until == soon.replace(microsecond=0).isoformat()


def test_a_signed_address_is_good_for_nothing_else(
    api: ApiClient, team: Tenant, other_team: Tenant, user: User
) -> None:
    export, others, theirs = (
        made(team, user.id),
        made(team, user_make(team).id),
        made(other_team, user_make(other_team).id),
    )
    token = signed(api, export).partition("?token=")[2]
    stranger = ApiClient()
    for target in (others, theirs):
        assert stranger.get(path_of(target, f"/download?token={token}")).status_code == 401
    assert stranger.get(f"{path_of(export)}?token={token}").status_code == 401
    parts = token.split(".")
    changed = [
        [str(int(parts[0]) + 60), *parts[1:]],
        [parts[0], other_team.team.id.hex, *parts[2:]],
        [*parts[:2], "production", *parts[3:]],
        [*parts[:3], "staff", *parts[4:]],
        [*parts[:4], uuid4().hex, parts[5]],
        [*parts[:5], parts[5][:-2]],
        parts[:5],
        ["ü"],
        [""],
    ]
    for other in changed:
        answer = stranger.get(path_of(export, "/download"), {"token": ".".join(other)})
        assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated"), other


def test_a_signed_address_of_a_deleted_user_opens_nothing(api: ApiClient, team: Tenant, user: User) -> None:
    export = made(team, user.id)
    address = signed(api, export)
    deleted(team, user.id)
    assert ApiClient().get(address).status_code == 404
    for path in (path_of(export), path_of(export, "/download"), f"/v2/user/{user.id}/export"):
        assert api.get(path).status_code == 404


def test_a_signed_address_of_a_deleted_team_opens_nothing(api: ApiClient, team: Tenant, user: User) -> None:
    address = signed(api, made(team, user.id))
    assert ApiClient().get(address).status_code == 200
    Team.objects.filter(pk=team.team.pk).update(deleted_at=clock.now(), erase_due_at=clock.now())
    assert ApiClient().get(address).status_code == 401


def test_exports_are_listed_by_pages_newest_first(api: ApiClient, team: Tenant, user: User) -> None:
    rows = [made(team, user.id), made(team, user.id), asked(team, user.id)]
    made(team, user_make(team).id)
    path, found, cursor = f"/v2/user/{user.id}/export", [], ""
    while True:
        page = api.get(path, {"limit": 2, **({"next_cursor": cursor} if cursor else {})}).json()
        found += [(one["export_id"], one["status"]) for one in page["exports"]]
        cursor = page["next_cursor"]
        if not cursor:
            break
    assert found == [(str(rows[2].pk), "queued"), (str(rows[1].pk), "ready"), (str(rows[0].pk), "expired")]
    assert api.get(path, {"limit": 0}).status_code == 422


def test_a_longer_list_is_no_more_queries(api: ApiClient, team: Tenant, user: User) -> None:
    counts = []
    api.get(f"/v2/user/{user.id}/export")  # the key's first use is noted
    for _ in range(2):
        made(team, user.id)
        with CaptureQueriesContext(connection) as captured:
            assert api.get(f"/v2/user/{user.id}/export").status_code == 200
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_others_exports_are_as_missing_ones(
    api: ApiClient, team: Tenant, other_team: Tenant, production: Tenant, user: User
) -> None:
    def answers(user_id: UUID, export_id: UUID) -> list[tuple[int, dict[str, object]]]:
        base = f"/v2/user/{user_id}/export/{export_id}"
        found = [api.get(base), api.get(f"{base}/download")]
        return [(one.status_code, {**one.json(), "request_id": ""}) for one in found]

    missing = answers(user.id, uuid4())
    assert [status for status, _body in missing] == [404, 404]
    for tenant in (other_team, production):
        theirs = made(tenant, user_make(tenant).id)
        assert answers(user.id, theirs.pk) == missing
        assert [status for status, _body in answers(theirs.user_id, theirs.pk)] == [404, 404]
    assert answers(user_make(team).id, made(team, user.id).pk) == missing


def test_a_repeat_with_the_same_idempotency_key_gets_the_same_answer(api: ApiClient, team: Tenant, user: User) -> None:
    first = api.post(f"/v2/user/{user.id}/export", Idempotency_Key="once")
    with team_scope(team.context):
        export_run(job_id=Export.objects.get().job_id)
    again = api.post(f"/v2/user/{user.id}/export", Idempotency_Key="once")
    assert (first.status_code, again.status_code, again.json()) == (202, 202, first.json())
    with team_scope(team.context):
        assert Export.objects.count() == 1


def test_who_downloaded_is_written_down_and_no_log_has_the_token(
    api: ApiClient, team: Tenant, user: User, caplog: pytest.LogCaptureFixture
) -> None:
    export = made(team, user.id)
    with team_scope(team.context):
        before = set(AccessRecord.objects.values_list("pk", flat=True))
    address = signed(api, export)
    content_of(ApiClient().get(address))
    with team_scope(team.context):
        asked_by, downloaded = AccessRecord.objects.exclude(pk__in=before).order_by("occurred_at", "pk")
    assert (downloaded.action, downloaded.user_id) == (
        "GET /v2/user/<user_id>/export/<export_id>/download",
        user.id,
    )
    assert downloaded.object_ids == {"user_id": str(user.id), "export_id": str(export.pk)}
    # In the name of the key that asked for the address.
    assert (downloaded.actor_kind, downloaded.actor_id) == (asked_by.actor_kind, asked_by.actor_id) != ("", "")
    token = address.partition("?token=")[2]
    assert token not in caplog.text
    assert "/download" in caplog.text


def test_an_archive_whose_bytes_are_lost_is_no_500(api: ApiClient, team: Tenant, user: User, tmp_path: Path) -> None:
    export = made(team, user.id)
    for file in [one for one in tmp_path.rglob("*") if one.is_file()]:
        file.unlink()
    assert api.get(path_of(export, "/download")).status_code == 409


def test_a_reader_who_has_begun_reads_to_the_end(api: ApiClient, team: Tenant, user: User, tmp_path: Path) -> None:
    export = made(team, user.id)
    expected = archive_bytes(export)
    answer = Client().get(signed(api, export))
    for file in [one for one in tmp_path.rglob("*") if one.is_file()]:
        file.unlink()
    assert content_of(answer) == expected
