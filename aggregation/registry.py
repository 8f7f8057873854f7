"""What the aggregation app needs from the apps above it; they fill it in `AppConfig.ready()`."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProviderName:
    """A provider as people see it: its name, and the address of its logo (empty where there is none)."""

    name: str
    logo: str


#: Answers a provider's slug with its name, or None where the provider is not theirs. Asked in order.
provider_names: list[Callable[[str], ProviderName | None]] = []


def provider_name(slug: str) -> ProviderName:
    """A provider's name; made of the slug where nobody knows it."""
    for answer in provider_names:
        found = answer(slug)
        if found is not None:
            return found
    return ProviderName(slug.replace("_", " ").title(), "")
