"""Fields that take what they say and nothing else."""

from typing import Any
from uuid import UUID

import pytest
from django.http import QueryDict
from rest_framework import serializers

from healthsvc.kernel.fields import FlagField, UUIDTextField, WholeNumberField

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


class Counted(serializers.Serializer[Any]):
    """A number, and several."""

    count = WholeNumberField(min_value=0)
    counts = serializers.ListField(child=WholeNumberField(), required=False)


def test_a_whole_number_is_digits_in_a_query_only() -> None:
    checked = Counted(data=QueryDict("count=12"))
    assert checked.is_valid()
    assert checked.validated_data == {"count": 12}
    assert Counted(data={"count": 12, "counts": [-1]}).is_valid()
    assert not Counted(data=QueryDict("count=1.0")).is_valid()


@pytest.mark.parametrize("value", ["1", "", "x", True, 1.0, [], None])
def test_a_whole_number_of_a_body_is_no_text(value: object) -> None:
    for body in ({"count": value}, {"count": 1, "counts": [value]}):
        checked = Counted(data=body)
        assert not checked.is_valid()
