"""The where language: precedence, exact positions of errors, and hostile expressions."""

import pytest

from aggregation.query.nodes import Comparison, Conjunction, Disjunction, Identifier, Literal, Negation, WhereNode
from aggregation.query.where import MAX_COMPARISONS, MAX_WHERE_DEPTH, WhereError, where_parse

OPERAND = "a text in single quotes, a number, TRUE, FALSE or a column name"


def shape(node: WhereNode) -> str:
    """The tree with every parenthesis written."""
    if isinstance(node, Comparison):
        sides = [side.name if isinstance(side, Identifier) else repr(side.value) for side in (node.left, node.right)]
        return f"{sides[0]}{node.operator}{sides[1]}"
    if isinstance(node, Negation):
        return f"!({shape(node.term)})"
    joint = " & " if isinstance(node, Conjunction) else " | "
    return "(" + joint.join(shape(term) for term in node.terms) + ")"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("type = 'long_sleep'", "type='long_sleep'"),
        ("strain_score>=14", "strain_score>=14.0"),
        ("a = 1 OR b = 2 AND c = 3", "(a=1.0 | (b=2.0 & c=3.0))"),
        ("a = 1 AND b = 2 OR c = 3", "((a=1.0 & b=2.0) | c=3.0)"),
        ("NOT a = 1 AND b = 2", "(!(a=1.0) & b=2.0)"),
        ("NOT (a = 1 AND b = 2)", "!((a=1.0 & b=2.0))"),
        ("not NOT a = 1", "a=1.0"),
        ("(a = 1 or b = 2) and c = 3", "((a=1.0 | b=2.0) & c=3.0)"),
        ("a=1 and b=2 and c=3", "(a=1.0 & b=2.0 & c=3.0)"),
        ("a = 'it''s'", 'a="it\'s"'),
        ("a != ''", "a!=''"),
        ("a < -1.5e2", "a<-150.0"),
        ("5 < a", "5.0<a"),
        ("a = true", "a=True"),
        ("a<b", "a<b"),
        ("\n a\t=\n1 ", "a=1.0"),
        (
            "(source_type = 'watch' AND source_provider = 'apple_health_kit') OR source_provider = 'oura'",
            "((source_type='watch' & source_provider='apple_health_kit') | source_provider='oura')",
        ),
    ],
)
def test_precedence(text: str, expected: str) -> None:
    assert shape(where_parse(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "at character 1: the expression ends here; expected a column name"),
        ("a", "at character 2: the expression ends here; expected one of =, !=, <, <=, > or >="),
        ("a =", f"at character 4: the expression ends here; expected {OPERAND}"),
        ("a = 1 b = 2", "at character 7: expected AND, OR or the end"),
        ("a == 1", f"at character 4: expected {OPERAND}"),
        ("(a = 1", "at character 7: the expression ends here; expected ')', AND or OR"),
        ("a = 1)", "at character 6: expected AND, OR or the end"),
        ("()", "at character 2: expected a column name"),
        ("a = 'x", "at character 5: this text has no closing single quote (write '' for a quote inside)"),
        ('a = "x"', "at character 5: texts are written in single quotes"),
        ("a = 1; DROP TABLE b", "at character 6: this character has no meaning here"),
        ("a = $1", "at character 5: this character has no meaning here"),
        ("a IN (1, 2)", "at character 3: IN is not part of the language; expected one of =, !=, <, <=, > or >="),
        ("a = NULL", f"at character 5: NULL cannot stand here; expected {OPERAND}"),
        ("a = 1e999", "at character 5: this number is too large"),
        ("AND a = 1", "at character 1: AND cannot stand here; expected a column name"),
        ("lower(a) = 'x'", "at character 6: expected one of =, !=, <, <=, > or >="),
        ("a = 'diabetes' 'x'", "at character 16: expected AND, OR or the end"),
    ],
)
def test_errors_say_where_and_what(text: str, expected: str) -> None:
    with pytest.raises(WhereError) as caught:
        where_parse(text)
    assert caught.value.message == expected


@pytest.mark.parametrize(
    ("text", "problem_type"),
    [
        ("(" * 5_000 + "a = 1" + ")" * 3_000, "too_many"),
        ("(" * 5_000, "too_many"),
        ("NOT(" * 2_000 + "a = 1" + ")" * 2_000, "too_long"),
        ("NOT(" * 1_000 + "a = 1" + ")" * 1_000, "too_many"),
        (" OR ".join(["a = 1"] * 10_000), "too_long"),
        ("OR".join(["a=1 "] * (MAX_COMPARISONS + 1)), "where_syntax"),
        (" OR ".join(["a=1"] * (MAX_COMPARISONS + 1)), "too_many"),
        ("a = '" + "''" * 4_000, "where_syntax"),
        ("a = " + "9" * 8_000, "out_of_range"),
        ("a" * 9_000, "too_long"),
        ("\x00", "where_syntax"),
        ("a = 1 OR", "where_syntax"),
    ],
)
def test_hostile_expressions_are_refused(text: str, problem_type: str) -> None:
    with pytest.raises(WhereError) as caught:
        where_parse(text)
    assert caught.value.type == problem_type


def test_the_largest_allowed_expressions_are_parsed() -> None:
    nested = where_parse("(" * MAX_WHERE_DEPTH + "a = 1" + ")" * MAX_WHERE_DEPTH)
    assert shape(nested) == "a=1.0"
    wide = where_parse(" OR ".join(["a=1"] * MAX_COMPARISONS))
    assert isinstance(wide, Disjunction)
    assert len(wide.terms) == MAX_COMPARISONS
    assert shape(where_parse("NOT " * 2_001 + "a = 1")) == "!(a=1.0)"


def test_side_by_side_parentheses_are_not_nesting() -> None:
    wide = where_parse(" AND ".join(["((a=1))"] * 200))
    assert isinstance(wide, Conjunction)
    assert len(wide.terms) == 200


def test_a_literal_is_not_in_the_representation_of_a_tree() -> None:
    assert "diabetes" not in repr(where_parse("type = 'diabetes'"))
    assert where_parse("type = 'diabetes'") == Comparison(Identifier("type", 1), "=", Literal("diabetes", 8), 6)
