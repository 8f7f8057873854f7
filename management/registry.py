"""What the management app needs from the apps above it; they fill it in `AppConfig.ready()`."""

from collections.abc import Callable, Collection

#: Every slug that a team's `link_providers` may name.
provider_slugs: list[Callable[[], Collection[str]]] = []


def provider_slugs_known() -> frozenset[str]:
    """The slugs of every provider there is."""
    return frozenset(slug for slugs in provider_slugs for slug in slugs())
