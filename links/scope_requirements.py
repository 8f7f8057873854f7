"""What a team's people must and may grant at a provider, beyond what its resources take."""

from collections.abc import Iterable
from dataclasses import dataclass

from healthsvc.kernel.principal import TeamContext
from links.catalogue import Provider
from management.models import ScopeRequirement


@dataclass(frozen=True, slots=True)
class Requirement:
    """Scopes without which nothing is connected, and scopes that are only asked for."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    def asked(self, provider: Provider) -> tuple[str, ...]:
        """Every scope to ask for, once each: the resources' own first."""
        return tuple(dict.fromkeys((*provider.scopes, *self.required, *self.optional)))

    def is_met(self, granted: Iterable[str]) -> bool:
        """Whether everything that is required was granted."""
        return set(self.required) <= set(granted)


def requirement_of(team: TeamContext, provider: Provider) -> Requirement:
    """The team's wish for a provider; none where its logins ask a person for no scopes. One query, in the team's scope.

    Whatever a login that knows no scopes gives, nobody could grant more of it.
    """
    if not provider.asks_for_scopes:
        return Requirement()
    found = ScopeRequirement.objects.for_team(team).filter(provider=provider.slug).first()
    return Requirement(tuple(found.required_scopes), tuple(found.optional_scopes)) if found else Requirement()
