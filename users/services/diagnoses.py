"""Writes of the ICD-10-CM code set, which all teams share."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from django.db import models, transaction

from healthsvc.kernel import clock
from users import icd10cm
from users.models import Diagnosis, DiagnosisExclusion, DiagnosisRelease

_ROWS_A_STATEMENT: Final = 5_000
_LOAD_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('users-diagnoses-load', 0))"


@dataclass(frozen=True, slots=True)
class CodeSetTables:
    """The three tables, as they are now or as a migration knows them, and the connection to write them through."""

    diagnosis: type[models.Model]
    exclusion: type[models.Model]
    release: type[models.Model]
    using: str = "default"


@dataclass(frozen=True, slots=True)
class CodeSetLoad:
    """Which code set the tables hold now, and how many rows were written for it: none where they held it before."""

    release: str
    codes: int
    exclusions: int


def code_set_load(*, tables: CodeSetTables | None = None) -> CodeSetLoad:
    """Make the tables hold the installed code set. Costs a query where they do, else about ten seconds.

    One transaction: readers see the old set or the new one. Of two at once the second finds nothing to do.
    """
    tables = tables or CodeSetTables(Diagnosis, DiagnosisExclusion, DiagnosisRelease)
    release = icd10cm.release()
    with transaction.atomic(using=tables.using):
        with transaction.get_connection(tables.using).cursor() as cursor:
            cursor.execute(_LOAD_LOCK)
        releases = tables.release._default_manager.using(tables.using)
        if releases.filter(release=release).exists():
            return CodeSetLoad(release, 0, 0)
        codes = _replaced(tables.diagnosis, icd10cm.entries(), tables.using)
        exclusions = _replaced(tables.exclusion, icd10cm.exclusions(), tables.using)
        releases.all().delete()
        releases.create(release=release, loaded_at=clock.now())
    return CodeSetLoad(release, codes, exclusions)


def _replaced(model: type[models.Model], found: Iterable[icd10cm.CodeEntry | icd10cm.Exclusion], using: str) -> int:
    """Put these in the place of a table's rows, a portion at a time; how many they are."""
    manager = model._default_manager.using(using)
    manager.all().delete()
    rows = iter(found)
    count = 0
    while portion := [model(**_columns(row)) for row in islice(rows, _ROWS_A_STATEMENT)]:
        manager.bulk_create(portion)
        count += len(portion)
    return count


def _columns(row: icd10cm.CodeEntry | icd10cm.Exclusion) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__dataclass_fields__}
