"""What the management app needs from the apps above it; they fill it in `AppConfig.ready()`."""

from collections.abc import Callable, Collection

from healthsvc.kernel.principal import TeamContext

#: Every slug that a team's `link_providers` may name.
provider_slugs: list[Callable[[], Collection[str]]] = []

#: Every event type that a team's `event_type_prefixes` may name, whole or by its first words.
event_names: list[Callable[[], Collection[str]]] = []

#: Erases some of what an app keeps of a deleted team in one environment, in the purge scope and a transaction of its
#: own, safe to repeat; says whether nothing is left. In the order in which they must run.
TeamEraser = Callable[[TeamContext], bool]
team_erasers: list[TeamEraser] = []


def provider_slugs_known() -> frozenset[str]:
    """The slugs of every provider there is."""
    return frozenset(slug for slugs in provider_slugs for slug in slugs())


def is_event_prefix(text: str) -> bool:
    """Whether `text` is an event type, or the first words of some, with or without `.*` behind."""
    words = text.removesuffix(".*")
    return any(name == words or name.startswith(f"{words}.") for names in event_names for name in names())
