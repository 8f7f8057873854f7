"""What the management app needs from the apps above it; they fill it in `AppConfig.ready()`."""

from collections.abc import Callable, Collection

from healthsvc.kernel.principal import TeamContext

#: Every slug that a team's `link_providers` may name.
provider_slugs: list[Callable[[], Collection[str]]] = []

#: Whether words name events, whole or by their beginning, so that a team's `event_type_prefixes` may have them.
event_prefix_rules: list[Callable[[str], bool]] = []

#: Erases some of what an app keeps of a deleted team in one environment, in the purge scope and a transaction of its
#: own, safe to repeat; says whether nothing is left. In the order in which they must run.
TeamEraser = Callable[[TeamContext], bool]
team_erasers: list[TeamEraser] = []


def provider_slugs_known() -> frozenset[str]:
    """The slugs of every provider there is."""
    return frozenset(slug for slugs in provider_slugs for slug in slugs())


def is_event_prefix(text: str) -> bool:
    """Whether `text` is an event type, or the first words of some, with or without `.*` behind."""
    return any(names_events(text) for names_events in event_prefix_rules)
