"""What the management app needs from the apps above it; they fill it in `AppConfig.ready()`."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from healthsvc.kernel.principal import TeamContext

#: Every slug that a team's `link_providers` may name.
provider_slugs: list[Callable[[], Collection[str]]] = []

#: Those of them whose login asks a person for scopes, so that a team may require some.
scoped_provider_slugs: list[Callable[[], Collection[str]]] = []

#: Whether words name events, whole or by their beginning, so that a team's `event_type_prefixes` may have them.
event_prefix_rules: list[Callable[[str], bool]] = []


class TeamErasureWaits(Exception):  # noqa: N818 - reads as what happens
    """What is left of a team must end by itself before it can be erased; it is looked at again later."""


@dataclass(frozen=True, slots=True)
class TeamEraser:
    """Erases what an app keeps of a deleted team in one environment.

    `tables`: those it answers for. `portions` erases everything: each step is a transaction of its own in the purge
    scope, takes a second or two, and says how many rows; it ends where nothing is left. Safe to begin again.
    TeamErasureWaits where what is left must end by itself first.
    """

    tables: frozenset[str]
    portions: Callable[[TeamContext], Iterator[int]]
    #: Others' rows refer to these, whatever of them waits: asked only where nobody waits.
    is_referred_to: bool = False
    #: What it writes down needs what the others erase: asked before them.
    is_first: bool = False


#: In the order of the apps, from the lowest up. What is above is erased first, for its rows refer to those below.
team_erasers: list[TeamEraser] = []


def provider_slugs_known() -> frozenset[str]:
    """The slugs of every provider there is."""
    return frozenset(slug for slugs in provider_slugs for slug in slugs())


def provider_slugs_scoped() -> frozenset[str]:
    """The slugs of the providers whose login asks a person for scopes."""
    return frozenset(slug for slugs in scoped_provider_slugs for slug in slugs())


def is_event_prefix(text: str) -> bool:
    """Whether `text` is an event type, or the first words of some, with or without `.*` behind."""
    return any(names_events(text) for names_events in event_prefix_rules)
