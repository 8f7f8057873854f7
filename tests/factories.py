"""Plain functions that make things for tests; every argument has a default."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.scope import team_scope
from management import services as management_services
from management.models import Organisation, Team
from users import services as user_services
from users.models import User

_numbers: Iterator[int] = count(1)


@dataclass(frozen=True, slots=True)
class Tenant:
    """A team in one environment, with a key that opens it."""

    team: Team
    context: TeamContext
    key: str


def organisation_make(*, name: str = "Our organisation") -> Organisation:
    """An organisation."""
    return management_services.organisation_create(name=name, created_by="test")[0]


def management_key_make(organisation: Organisation, **values: Any) -> str:
    """A management key's text."""
    values = {"label": "test", "created_by": "test", **values}
    return management_services.management_key_create(organisation_id=organisation.id, **values).text


def tenant_make(
    organisation: Organisation | None = None,
    *,
    name: str = "Our team",
    region: str = "us",
    environment: Environment = Environment.SANDBOX,
) -> Tenant:
    """A team with a key."""
    organisation = organisation or organisation_make()
    team = management_services.team_create(organisation_id=organisation.id, name=name, region=region)
    return _tenant(team, environment)


def environment_make(tenant: Tenant, environment: Environment) -> Tenant:
    """The same team in another environment, with a key of its own."""
    return _tenant(tenant.team, environment)


def _tenant(team: Team, environment: Environment) -> Tenant:
    made = management_services.team_key_create(team=team, environment=environment, label="test", created_by="test")
    return Tenant(team, TeamContext(team.id, environment), made.text)


def user_make(tenant: Tenant, **values: Any) -> User:
    """A user of a team."""
    values.setdefault("client_user_id", f"person-{next(_numbers)}")
    with team_scope(tenant.context):
        return user_services.user_create(team=tenant.context, **values)
