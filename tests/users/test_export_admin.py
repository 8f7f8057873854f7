"""Exports in the staff admin: asked for and downloaded by who may, each with a trace."""

from pathlib import Path

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from pytest_django import Settings

from healthsvc.kernel.scope import SystemScope, system_scope
from management.models import AccessRecord, StaffUser
from tests.factories import Tenant, user_make
from tests.users.exporting import archive_bytes, asked, made
from users.models import Export, User

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_files(settings: Settings, tmp_path: Path) -> None:
    storage = {**settings.STORAGES["default"], "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = {**settings.STORAGES, "default": storage}


@pytest.fixture
def user(team: Tenant) -> User:
    """Whose data are exported."""
    return user_make(team)


def clerk(*permissions: str) -> Client:
    """Staff who may do only this."""
    staff = StaffUser.objects.create_user(username="bo", password="correct horse battery", is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(staff)
    return client


def exports() -> list[Export]:
    """All there are."""
    with system_scope(SystemScope.STAFF):
        return list(Export.objects.order_by("pk"))


def traces() -> list[tuple[str, str]]:
    """What staff did, and whose data it was."""
    with system_scope(SystemScope.STAFF):
        rows = AccessRecord.objects.filter(actor_kind="staff").order_by("occurred_at", "pk")
        return [(row.action, str(row.user_id)) for row in rows]


def test_the_button_of_a_user_asks_for_an_archive(user: User) -> None:
    client = clerk("view_user", "add_export", "view_export")
    assert "Export everything" in client.get(f"/admin/users/user/{user.pk}/change/").content.decode()
    answer = client.post(f"/admin/users/user/{user.pk}/export/")
    assert (answer.status_code, answer["Location"]) == (302, f"/admin/users/export/?q={user.pk}")
    (export,) = exports()
    assert (export.user_id, export.status) == (user.pk, "making")
    assert traces()[-1] == ("POST admin users.user export", str(user.pk))
    page = client.get(answer["Location"]).content.decode()
    assert "0 of " in page
    assert "an archive is made" in page
    assert client.get(f"/admin/users/user/{user.pk}/export/").status_code == 405


def test_the_list_asks_for_several_and_tells_of_who_can_have_none(team: Tenant, user: User) -> None:
    client, other = clerk("view_user", "add_export"), user_make(team)
    asked(team, other.pk)
    with system_scope(SystemScope.STAFF):
        gone = user_make(team)
        User.objects.filter(pk=gone.pk).update(deleted_at=gone.created_at)
    chosen = {"action": "export", "_selected_action": [str(one.pk) for one in (user, other, gone)]}
    page = client.post("/admin/users/user/", chosen, follow=True).content.decode()
    assert {export.user_id for export in exports()} == {user.pk, other.pk}
    assert "one is being made already" in page
    # The admin makes the first character a capital.
    assert f"{str(gone.pk)[1:]}: this user was deleted. No archive is made of them" in page
    # Nor does the user's own page offer one.
    page = client.get(f"/admin/users/user/{gone.pk}/change/").content.decode()
    assert ("Export everything" in page, "No archive is made of them" in page) == (False, True)


def test_seeing_users_is_not_enough_to_export_them(user: User) -> None:
    client = clerk("view_user", "view_export")
    assert "Export everything" not in client.get(f"/admin/users/user/{user.pk}/change/").content.decode()
    assert client.post(f"/admin/users/user/{user.pk}/export/").status_code == 403
    client.post("/admin/users/user/", {"action": "export", "_selected_action": [str(user.pk)]})
    assert exports() == []


def test_staff_who_may_download_do_and_it_is_written_down(team: Tenant, user: User) -> None:
    client = clerk("view_export", "download_export")
    export = made(team, user.pk)
    assert "Download the archive" in client.get(f"/admin/users/export/{export.pk}/change/").content.decode()
    address = f"/admin/users/export/{export.pk}/download/"
    assert client.get(address).status_code == 405
    answer = client.post(address)
    assert (answer.status_code, "no-store" in answer["Cache-Control"]) == (200, True)
    assert b"".join(answer.streaming_content) == archive_bytes(export)  # type: ignore[attr-defined]
    assert traces()[-1] == ("POST admin users.export download", str(user.pk))


def test_seeing_exports_is_not_enough_to_download_them(team: Tenant, user: User) -> None:
    client = clerk("view_export", "add_export")
    export = made(team, user.pk)
    page = client.get(f"/admin/users/export/{export.pk}/change/").content.decode()
    assert "Download the archive" not in page
    before = traces()
    assert client.post(f"/admin/users/export/{export.pk}/download/").status_code == 403
    assert traces() == before


def test_one_that_is_not_ready_is_told_so(team: Tenant, user: User) -> None:
    client = clerk("view_export", "download_export")
    export = asked(team, user.pk)
    assert "Download the archive" not in client.get(f"/admin/users/export/{export.pk}/change/").content.decode()
    answer = client.post(f"/admin/users/export/{export.pk}/download/", follow=True)
    assert "There is no archive to download" in answer.content.decode()
    assert [action for action, _user in traces() if "download" in action] == []
