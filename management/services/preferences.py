"""What a team chooses for one environment: its switches, brand, logo, and what its people must grant."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db import transaction

from healthsvc.kernel import clock
from healthsvc.kernel.errors import Problem, invalid
from healthsvc.kernel.principal import Environment, TeamContext
from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import team_scope
from management.branding import logo_media_type, logo_problem
from management.constants import DuplicateAccountPolicy
from management.models import ScopeRequirement, Team, TeamLogo, TeamSettings
from management.registry import provider_slugs_known, provider_slugs_scoped

#: Texts that null empties; every other field of the API is left as it is by null.
_CLEARED_BY_NULL: Final = frozenset({"critical_result_notification_email", "logo_url"})


def team_settings_change(*, team: TeamContext, changes: Mapping[str, Any], needs_logo: bool = True) -> None:
    """Change the named switches, by the names of the API: `brand_information` and `reject_duplicate_connection` too.

    422 where a company's name is set and there is no logo to go with it, unless `needs_logo` is False.
    """
    values = _columns(changes)
    reject = changes.get("reject_duplicate_connection")
    if not values and reject is None:
        return
    with team_scope(team), transaction.atomic():
        TeamSettings.objects.bulk_create([TeamSettings(**team_values(team))], ignore_conflicts=True)
        row = TeamSettings.objects.for_team(team).select_for_update().get()
        if reject is not None and reject is not row.reject_duplicate_connection:
            values["duplicate_account_policy"] = (
                DuplicateAccountPolicy.REFUSE if reject else DuplicateAccountPolicy.ALLOW
            )
        for name, value in values.items():
            setattr(row, name, value)
        if needs_logo and values.get("company_name") and not _has_logo(team, row):
            message = "Needed where brand_information.company_name is set."
            raise invalid([Problem(("body", str(team.environment), "logo_url"), message, "missing")])
        row.save(update_fields=list(values))


def _has_logo(team: TeamContext, row: TeamSettings) -> bool:
    return bool(row.logo_url) or TeamLogo.objects.for_team(team).exists()


def _columns(changes: Mapping[str, Any]) -> dict[str, Any]:
    flat = {**changes, **(changes.get("brand_information") or {})}
    for name in ("brand_information", "reject_duplicate_connection"):
        flat.pop(name, None)
    emptied = {name: "" for name, value in flat.items() if value is None and name in _CLEARED_BY_NULL}
    return {**{name: value for name, value in flat.items() if value is not None}, **emptied}


def team_logo_set(*, team: TeamContext, content: bytes) -> TeamLogo:
    """The team's logo from now on. 422 for what is no picture. A new one has a new id: the old address is cached."""
    problem, media_type = logo_problem(content), logo_media_type(content)
    if problem is not None or media_type is None:
        raise invalid([Problem(("content",), problem or "", "logo_invalid")])
    with team_scope(team), transaction.atomic():
        # Of two at the same moment the second waits here for the first.
        Team.objects.select_for_update(no_key=True).get(pk=team.team_id)
        team_logo_remove(team=team)
        return TeamLogo.objects.create(
            **team_values(team), media_type=media_type, content=content, created_at=clock.now()
        )


def team_logo_remove(*, team: TeamContext) -> bool:
    """Take the team's logo off its pages; whether there was one."""
    with team_scope(team):
        return TeamLogo.objects.for_team(team).delete()[0] > 0


def scope_requirement_set(*, team: Team, provider: str, required: Sequence[str], optional: Sequence[str]) -> None:
    """What people must and may grant at a provider, in both environments; two empty lists take the requirement away.

    422 for an unknown provider, one whose login asks for no scopes, or a scope that is in both lists.
    """
    if provider not in provider_slugs_known():
        raise invalid([Problem(("body", "provider"), "Not a provider.", "enum")])
    if (required or optional) and provider not in provider_slugs_scoped():
        message = "This provider's login asks nobody for scopes, so none can be required; send two empty lists."
        raise invalid([Problem(("body", "provider"), message, "provider_without_scopes")])
    if set(required) & set(optional):
        raise invalid([Problem(("body", "optional"), "A scope is required or optional, not both.", "scope_twice")])
    values = {
        "required_scopes": list(dict.fromkeys(required)),
        "optional_scopes": list(dict.fromkeys(optional)),
    }
    with transaction.atomic():
        for environment in Environment:
            context = TeamContext(team.pk, environment)
            with team_scope(context):
                if required or optional:
                    ScopeRequirement.objects.update_or_create(
                        **team_values(context), provider=provider, defaults=values
                    )
                else:
                    ScopeRequirement.objects.for_team(context).filter(provider=provider).delete()
