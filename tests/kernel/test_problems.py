"""What a refused value is told: which values are taken instead, and never what was sent."""

from typing import Any

import pytest
from rest_framework import serializers

from healthsvc.kernel.problems import from_serializer_errors

_MANY = [f"value_{number}" for number in range(13)]
_UNNAMED = "Not one of the values that are taken here; the API's document has them."


class _Inner(serializers.Serializer[Any]):
    color = serializers.ChoiceField(choices=["red", "green"])


class _Body(serializers.Serializer[Any]):
    color = serializers.ChoiceField(choices=[("red", "Red"), ("green", "Green")], required=False)
    one = serializers.ChoiceField(choices=["this"], required=False)
    long = serializers.ChoiceField(choices=_MANY, required=False)
    twelve = serializers.ChoiceField(choices=_MANY[:12], required=False)
    colors = serializers.ListField(child=serializers.ChoiceField(choices=["red", "green"]), required=False)
    inner = _Inner(required=False)
    inners = _Inner(many=True, required=False)


@pytest.mark.parametrize(
    ("sent", "loc", "message"),
    [
        ({"color": "secret"}, ("color",), "Must be one of red, green."),
        ({"color": ["secret"]}, ("color",), "Must be one of red, green."),
        ({"one": "secret"}, ("one",), "Must be this."),
        ({"long": "secret"}, ("long",), _UNNAMED),
        ({"twelve": "secret"}, ("twelve",), f"Must be one of {', '.join(_MANY[:12])}."),
        ({"colors": ["red", "secret"]}, ("colors", 1), "Must be one of red, green."),
        ({"inner": {"color": "secret"}}, ("inner", "color"), "Must be one of red, green."),
        ({"inners": [{"color": "red"}, {"color": "secret"}]}, ("inners", 1, "color"), "Must be one of red, green."),
    ],
)
def test_a_choice_names_what_it_takes(sent: dict[str, Any], loc: tuple[str | int, ...], message: str) -> None:
    body = _Body(data=sent)
    assert not body.is_valid()
    found = from_serializer_errors(body.errors, ("body",), body)
    assert [(problem.loc, problem.msg, problem.type) for problem in found] == [(("body", *loc), message, "enum")]


def test_who_does_not_say_which_field_refused_names_nothing() -> None:
    body = _Body(data={"color": "secret"})
    assert not body.is_valid()
    assert [problem.msg for problem in from_serializer_errors(body.errors, ("body",))] == [_UNNAMED]
