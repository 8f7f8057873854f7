"""Everything that an erasure would take is in the archive of a user, or on the list of what is left out and why."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.db.models import CompositePrimaryKey
from pytest_django import Settings

from healthsvc.kernel.exporting import ExportPart
from healthsvc.kernel.scope import SystemScope, system_scope
from tests.factories import Tenant, user_make
from tests.invariants.person_filling import Person, person_fill
from tests.invariants.person_tables import our_models, personal_models, rows_of
from tests.users.exporting import opened
from users import registry
from webhooks.models import Event

PERSONAL = personal_models(our_models())
#: What a mark can't stand for: their own tests show that every sample is there.
BLOCKS = {"aggregation_series", "aggregation_block", "aggregation_tail"}

#: Asking makes one; an open one that was planted would be what is answered. Documents have bytes, and their own test.
OF_THE_EXPORT = {"users_export", "management_stored_file"}


def erased() -> set[str]:
    """Tables that erasers answer for."""
    return {table for eraser in registry.erasers for table in eraser.tables}


def undecided(exporters: list[registry.Exporter]) -> set[str]:
    """Tables that are erased with a user, and neither exported nor left out for a reason."""
    return erased() - exported(exporters) - left_out(exporters)


def exported(exporters: list[registry.Exporter]) -> set[str]:
    """Tables that are in the archive."""
    return {table for exporter in exporters for part in exporter.parts for table in part.tables}


def left_out(exporters: list[registry.Exporter]) -> set[str]:
    """Tables that are not, as a whole."""
    return {table for exporter in exporters for table in exporter.left_out}


def test_every_table_that_is_erased_is_exported_or_has_a_reason() -> None:
    exporters = registry.exporters
    assert undecided(exporters) == set()
    assert (exported(exporters) | left_out(exporters)) - erased() == set(), "stale"
    assert exported(exporters) & left_out(exporters) == set(), "a stale reason"
    reasons = [*(one.left_out for one in exporters), *(part.left_out for one in exporters for part in one.parts)]
    assert all(reason for some in reasons for reason in some.values())


def test_a_table_that_nobody_exports_is_found() -> None:
    kept = [
        registry.Exporter([part for part in one.parts if "links_pull" not in part.tables], one.left_out)
        for one in registry.exporters
    ]
    assert undecided(kept) == {"links_pull"}


def test_every_part_has_a_name_of_its_own() -> None:
    names = [part.name for one in registry.exporters for part in one.parts]
    assert sorted(names) == sorted(set(names))


def test_every_part_is_told_of_in_a_sentence() -> None:
    parts = [part for one in registry.exporters for part in one.parts]
    assert [part.name for part in parts if not (part.about.endswith(".") and part.pattern)] == []


@pytest.fixture
def _marks_are_no_events(db: None) -> Iterator[None]:
    """What stands in the bodies of filled events is none that a receiver could read."""
    yield
    with system_scope(SystemScope.PURGE):
        Event.objects.update(body=None)


@pytest.mark.slow
@pytest.mark.usefixtures("_marks_are_no_events")
def test_every_row_and_every_column_is_there_and_nothing_of_others(
    team: Tenant, other_team: Tenant, settings: Settings, tmp_path: Path
) -> None:
    storage = {**settings.STORAGES["default"], "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = {**settings.STORAGES, "default": storage}
    filled = [model for model in PERSONAL if model._meta.db_table not in {*BLOCKS, *OF_THE_EXPORT}]
    people = [
        Person(tenant, user_make(tenant, client_user_id=mark), mark)
        for tenant, mark in ((team, "our-mark"), (team, "their-mark"), (other_team, "other-mark"))
    ]
    for person in people:
        person_fill(person, filled)
    archive = opened(team, people[0].user.id)
    texts = b"\n".join(archive.files.values())
    assert (b"their-mark" in texts, b"other-mark" in texts) == (False, False)
    told = {part["name"]: part for part in archive.manifest["parts"]}
    for part in (part for one in registry.exporters for part in one.parts):
        (table,) = part.tables if len(part.tables) == 1 else ("",)
        if table in {model._meta.db_table for model in filled} and part.name != "aggregation.summary_tables":
            _check_rows(part, table, archive.lines(told[part.name]["files"][0]["path"]), people[0])


def _check_rows(part: ExportPart, table: str, lines: list[dict[str, object]], person: Person) -> None:
    model = next(model for model in apps.get_models() if model._meta.db_table == table)
    with system_scope(SystemScope.PURGE):
        rows = {str(one.id) for one in rows_of(model, person.user.id, PERSONAL)}
    told = {line["id"] for line in lines}
    # That the archive was made is told of once it is; and the job that makes it, once it has ended.
    untold = {"management_access_record", "management_background_job"}
    assert (told - rows, len(rows - told)) == (set(), int(table in untold)), table
    columns = {one.attname for one in model._meta.concrete_fields if not isinstance(one, CompositePrimaryKey)}
    hidden = {name.split(".")[1] for name in part.left_out}
    assert all(set(line) == columns - hidden for line in lines), table
