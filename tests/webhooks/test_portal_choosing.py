"""The tree of event types: what is in it, what is ticked, what a search leaves, and that nothing chosen is lost."""

from dataclasses import replace

import pytest
from django.http import QueryDict

from webhooks.portal.choosing import Tree, choice_clean, search_clean, tree_of
from webhooks.portal.endpoint_form import EndpointForm, form_read, is_search
from webhooks.registry import event_types

SLEEP = "daily.data.sleep"


def boxes(tree: Tree) -> dict[str, bool]:
    """Every box shown, and whether it is ticked."""
    shown = [family.every for family in tree.families]
    for family in tree.families:
        for line in family.lines:
            shown += [line.every, *line.boxes]
    return {box.value: box.ticked for box in [*shown, *tree.unknown] if box is not None}


def test_every_type_has_one_box() -> None:
    tree = tree_of([])
    names = [box.value for family in tree.families for line in family.lines for box in line.boxes]
    assert sorted(names) == list(event_types())
    assert tree.found_count == sum(family.count for family in tree.families) == len(names)
    assert not any(boxes(tree).values())
    assert not any(family.opened or family.chosen_count for family in tree.families)


def test_things_with_several_events_have_a_box_for_all() -> None:
    family = {family.name: family for family in tree_of([SLEEP]).families}["daily.data"]
    line = next(line for line in family.lines if line.every and line.every.value == SLEEP)
    assert (line.every and line.every.words, [box.words for box in line.boxes]) == ("sleep", ["created", "updated"])
    assert (family.chosen_count, family.opened, family.every and family.every.value) == (2, True, "daily.data")


def test_what_is_wider_than_a_family_or_unknown_keeps_a_box() -> None:
    tree = tree_of(["provider", "once.was.here", "daily.data.*"])
    assert [box.value for box in tree.unknown] == ["once.was.here", "provider"]
    assert boxes(tree)["daily.data"] is True


@pytest.mark.parametrize(
    ("chosen", "kept"),
    [
        ([f"{SLEEP}.created", SLEEP, f"{SLEEP}.updated"], [SLEEP]),
        (["daily.data.*", f"{SLEEP}.created"], ["daily.data"]),
        (["daily.data.slee", SLEEP], ["daily.data.slee", SLEEP]),
        ([" ", SLEEP, SLEEP], [SLEEP]),
    ],
)
def test_a_choice_says_nothing_twice(chosen: list[str], kept: list[str]) -> None:
    assert choice_clean(chosen) == kept


def test_a_search_keeps_what_it_hides() -> None:
    tree = tree_of([SLEEP, "provider.connection.created", "once.was.here"], search_clean(" Sleep "))
    assert set(boxes(tree)) >= {SLEEP, f"{SLEEP}.created", "historical.data.sleep.created", "once.was.here"}
    assert tree.carried == ("provider.connection.created",)
    assert all(family.opened for family in tree.families)
    assert all("sleep" in line.boxes[0].value for family in tree.families for line in family.lines)
    ticked = [value for value, is_ticked in boxes(tree).items() if is_ticked]
    assert sorted([*tree.carried, *ticked]) == sorted([SLEEP, "provider.connection.created", "once.was.here"])


def test_nothing_is_found() -> None:
    tree = tree_of([SLEEP], "zzzz")
    assert (tree.families, tree.carried, tree.found_count) == ((), (SLEEP,), 0)


@pytest.mark.parametrize(
    ("sent", "searches"),
    [
        ("find=yes&search=sleep&searched=", True),
        ("find=yes&search=&searched=sleep", True),
        # Enter in the field of the search: browsers press the first button, which has no name.
        ("search=sleep&searched=", True),
        ("search=sleep&searched=sleep", False),
        ("save=yes&search=sleep&searched=", False),
        ("", False),
    ],
)
def test_enter_in_the_search_does_not_save(sent: str, searches: bool) -> None:
    assert is_search(QueryDict(sent)) is searches


def test_a_search_keeps_what_was_typed() -> None:
    sent = QueryDict(
        f"url=https://a&description=b&events=some&type={SLEEP}&channels=c&rate_limit=x&search=sleep&find=yes"
    )
    typed = EndpointForm("https://a", "b", False, (SLEEP,), "c", "x", enabled=False, search="sleep")
    assert form_read(sent) == typed
    assert replace(typed, search="").tree.found_count == len(event_types())
