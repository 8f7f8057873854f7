"""The rule for patients' names: full match, plain spaces, and a sentence that says what to change."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from users.names import patient_name_problem

#: The published rule, with a plain space for its white space.
PUBLISHED = re.compile(r"([a-zA-Z0-9]{1})([a-zA-Z0-9-.,']*( [a-zA-Z0-9-.,']+)*[a-zA-Z0-9-.,']?)")


@pytest.mark.parametrize(
    "name",
    ["Anna", "A", "7", "Mary-Jane", "O'Neill", "John Paul", "St. John, Jr.", "de la Cruz", "X AE A-12", "a" * 50],
)
def test_names_that_labs_take(name: str) -> None:
    assert patient_name_problem(name) is None


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("", "Must not be empty"),
        ("a" * 51, "At most 50 characters"),
        ("-Anna", "Must begin with a letter"),
        (" Anna", "Must begin with a letter"),
        ("'Anna", "Must begin with a letter"),
        ("Anna  Maria", "Only one space"),
        ("Anna ", "Only one space"),
        ("Anna\tMaria", "plain space in the place of every tab"),
        ("Anna\n", "plain space in the place of every tab"),
        ("Anna\u00a0Maria", "plain space in the place of every tab"),
        ("Zoë", "without accents"),
        ("O\u2019Neill", "curved apostrophe"),
        ("Anna_Maria", "without accents"),
        ("Анна", "without accents"),
        ("٣", "without accents"),
        ("Anna\x00", "without accents"),
    ],
)
def test_names_that_they_do_not_are_told_what_to_change(name: str, hint: str) -> None:
    problem = patient_name_problem(name)
    assert problem is not None
    assert hint in problem
    assert not name.strip() or name not in problem


@given(st.text(alphabet="aZ09-.,' \t\né\u00a0_", max_size=52))
def test_the_rule_is_the_published_one(name: str) -> None:
    fits = PUBLISHED.fullmatch(name) is not None and len(name) <= 50
    assert (patient_name_problem(name) is None) == fits


def test_a_hostile_name_is_refused_at_once() -> None:
    assert patient_name_problem("a" * 40 + " a" * 100_000 + "!") is not None
