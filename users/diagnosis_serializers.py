"""Shapes of diagnosis codes in and out."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from healthsvc.kernel.fields import TextField
from users.constants import (
    DIAGNOSIS_CODE_MAXIMUM_CHARACTERS,
    DIAGNOSIS_CODES_MAXIMUM,
    DIAGNOSIS_QUERY_MAXIMUM_CHARACTERS,
)
from users.words import words_of


class DiagnosisQuery(serializers.Serializer[Any]):
    """What is looked for among diagnosis codes."""

    diagnosis_query = TextField(
        max_length=DIAGNOSIS_QUERY_MAXIMUM_CHARACTERS,
        help_text="The beginning of a code, with or without dot, or beginnings of words, all of which must be found.",
    )

    def validate_diagnosis_query(self, value: str) -> str:
        """A word to look for."""
        if not words_of(value):
            raise serializers.ValidationError("A letter or a digit is needed.", code="value_error")
        return value


@extend_schema_serializer(component_name="ClientFacingDiagnosisInformation")
class DiagnosisAnswer(serializers.Serializer[Any]):
    """A complete diagnosis code of ICD-10-CM."""

    diagnosis_code = serializers.CharField()
    description = serializers.CharField()


@extend_schema_serializer(component_name="ValidateICDCodesBody")
class DiagnosisCodesBody(serializers.Serializer[Any]):
    """Codes that are to be claimed together."""

    codes = serializers.ListField(
        child=TextField(max_length=DIAGNOSIS_CODE_MAXIMUM_CHARACTERS),
        allow_empty=False,
        max_length=DIAGNOSIS_CODES_MAXIMUM,
        help_text="Codes of ICD-10-CM, with or without dot.",
    )


@extend_schema_serializer(component_name="ICDExcludesViolation")
class ExcludesViolation(serializers.Serializer[Any]):
    """Two codes that are never claimed together: a note "Excludes1" of the first names the second."""

    code = serializers.CharField()
    conflicts_with = serializers.CharField()
    type = serializers.CharField(help_text="excludes1")


@extend_schema_serializer(component_name="ICDExcludesWarning")
class ExcludesWarning(serializers.Serializer[Any]):
    """Two codes for different conditions: a note "Excludes2" of the first says that the second is no part of it."""

    code = serializers.CharField()
    overlaps_with = serializers.CharField()
    type = serializers.CharField(help_text="excludes2")


@extend_schema_serializer(component_name="ValidateICDCodesResponse")
class DiagnosisCodesAnswer(serializers.Serializer[Any]):
    """What is wrong with the codes; warnings refuse nothing."""

    valid = serializers.BooleanField()
    errors = serializers.ListField(  # type: ignore[assignment]  # the API names a field so
        child=serializers.CharField(), help_text="A sentence for each code that is unknown or not complete."
    )
    violations = ExcludesViolation(many=True)
    warnings = ExcludesWarning(many=True)
