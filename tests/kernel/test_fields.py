"""Fields that take what they say and nothing else."""

from uuid import UUID

import pytest
from rest_framework import serializers

from healthsvc.kernel.fields import FlagField, UUIDTextField

SOME_ID = "0190a3b4-0000-7000-8000-000000000001"


def test_a_flag_is_true_or_false() -> None:
    assert [FlagField().run_validation(value) for value in (True, False)] == [True, False]
    assert FlagField(allow_null=True).run_validation(None) is None


@pytest.mark.parametrize("value", [0, 1, "true", "no", "", "null", [], {}, 1.0])
def test_a_flag_is_no_number_and_no_word(value: object) -> None:
    with pytest.raises(serializers.ValidationError) as refused:
        FlagField(allow_null=True).run_validation(value)
    assert refused.value.get_codes() == ["bool_type"]


def test_an_id_is_the_text_of_a_uuid() -> None:
    assert UUIDTextField().run_validation(SOME_ID) == UUID(SOME_ID)


@pytest.mark.parametrize("value", [0, 1, True, f"urn:uuid:{SOME_ID}", f"{{{SOME_ID}}}", "x", [SOME_ID]])
def test_an_id_is_no_number(value: object) -> None:
    with pytest.raises(serializers.ValidationError):
        UUIDTextField().run_validation(value)
