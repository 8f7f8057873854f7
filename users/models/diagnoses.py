"""The ICD-10-CM code set: the same for every team, written by `diagnoses_load` and nobody else.

Its tables belong to no team and hold nothing of anybody's. Django does not manage them, so that what empties the
tables of the applications leaves them: they are part of the schema, as a migration makes them.
"""

from typing import Final

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector
from django.db import models

from users.icd10cm import CODE_MAXIMUM_CHARACTERS

#: Words are split by `users.words` already; PostgreSQL's own rules for compounds and endings would only get in the way.
SEARCH_CONFIGURATION: Final = "simple"


class Diagnosis(models.Model):
    """A code, without its dot. Only complete codes are billable; the others are categories of them."""

    code = models.CharField(max_length=CODE_MAXIMUM_CHARACTERS, primary_key=True, db_collation="C")
    description = models.CharField(max_length=300)
    is_billable = models.BooleanField()
    chapter = models.CharField(max_length=2)
    block = models.CharField(max_length=7)
    #: What a billable code is found by: the words of its description, and of what the tabular list says it includes.
    search_words = models.TextField()
    included_words = models.TextField()

    class Meta:
        db_table = "users_diagnosis"
        managed = False
        verbose_name_plural = "diagnoses"
        indexes = [
            GinIndex(
                SearchVector("search_words", "included_words", config=SEARCH_CONFIGURATION),
                name="users_diagnosis_words",
                condition=models.Q(is_billable=True),
            ),
        ]

    def __str__(self) -> str:
        return self.code


class DiagnosisExclusion(models.Model):
    """One target of an exclusion note; `users.icd10cm.Exclusion` says what the columns mean."""

    id = models.AutoField(primary_key=True)
    scope = models.CharField(max_length=CODE_MAXIMUM_CHARACTERS, db_collation="C")
    kind = models.SmallIntegerField()
    first = models.CharField(max_length=CODE_MAXIMUM_CHARACTERS)
    last = models.CharField(max_length=CODE_MAXIMUM_CHARACTERS)
    pattern = models.CharField(max_length=100, blank=True)

    class Meta:
        db_table = "users_diagnosis_exclusion"
        managed = False
        constraints = [
            models.CheckConstraint(condition=models.Q(kind__in=[1, 2]), name="users_diagnosis_exclusion_kind_known"),
        ]
        indexes = [models.Index(fields=["scope"], name="users_diagnosis_exclusion_at")]

    def __str__(self) -> str:
        return f"{self.scope} {self.kind} {self.first}-{self.last}"


class DiagnosisRelease(models.Model):
    """Which code set the tables hold; one row."""

    release = models.CharField(max_length=100, primary_key=True)
    loaded_at = models.DateTimeField()

    class Meta:
        db_table = "users_diagnosis_release"
        managed = False

    def __str__(self) -> str:
        return self.release
