"""Which source counts where several measured the same: the order of source types and providers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

RankKey: TypeAlias = tuple[int, int, int, str, str]
RecorderKey: TypeAlias = tuple[int, int, int, str, str, int, str, str]

#: From the most to the least trusted.
SOURCE_TYPE_ORDER = (
    "lab",
    "automatic",
    "watch",
    "ring",
    "chest_strap",
    "scale",
    "cuff",
    "fingerprick",
    "manual_scan",
    "phone",
    "app",
    "multiple_sources",
    "unknown",
)
#: How the app ids begin under which a phone or watch itself records, and not an app on it.
OWN_APPS = ("com.apple.health",)


@dataclass(frozen=True, slots=True)
class Priorities:
    """A team's priorities: of `providers` the larger number wins, unlisted ones come last.

    tables: priorities of their own for single tables (`timeseries` is one), in place of `providers`.
    """

    providers: Mapping[str, int] = field(default_factory=dict)
    source_types: Sequence[str] = SOURCE_TYPE_ORDER
    tables: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceOrder:
    """The order in effect for one request: overrides before the team's priorities, ties by provider slug."""

    priorities: Priorities = field(default_factory=Priorities)
    overrides: tuple[str, ...] = ()

    def for_table(self, table: str) -> "SourceOrder":
        """The order that holds for one table."""
        providers = self.priorities.tables.get(table, self.priorities.providers)
        return replace(self, priorities=replace(self.priorities, providers=providers, tables={}))

    def recorder_key(self, provider: str, source_type: str, app_id: str | None, device_id: str | None) -> RecorderKey:
        """As `rank_key`, and of one source the device itself before the apps on it: no app, its own one, any other.

        Apps and devices that are alike in this go by their ids: which one is first must not hang on the timeframe.
        """
        app = app_id or ""
        standing = 0 if not app else 1 if app.startswith(OWN_APPS) else 2
        return (*self.rank_key(provider, source_type), standing, app, device_id or "")

    def rank_key(self, provider: str, source_type: str) -> RankKey:
        """Sorts the source that counts first to the front. Source types outside the order come after all in it."""
        types = list(self.priorities.source_types)
        type_rank = types.index(source_type) if source_type in types else len(types)
        if provider in self.overrides:
            standing = (0, self.overrides.index(provider))
        elif provider in self.priorities.providers:
            standing = (1, -self.priorities.providers[provider])
        else:
            standing = (2, 0)
        return (type_rank, *standing, provider, source_type)
