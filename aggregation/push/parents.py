"""Whether what a pushed record is part of is there: the sleep of a sleep cycle, the workout of a stream."""

from collections.abc import Sequence, Set
from uuid import UUID

from aggregation.models import Summary
from aggregation.push.summaries import ReadSummary
from aggregation.records import SummaryRecord
from healthsvc.kernel.ids import uuid_parse
from healthsvc.kernel.principal import TeamContext


def known_names(
    team: TeamContext,
    user_id: UUID,
    provider: str,
    resource: str,
    names: Set[str],
    pushed: Sequence[SummaryRecord],
) -> Set[str]:
    """Those of the names under which the provider's summaries of a resource are stored, or pushed beside them.

    At most one statement. Names are a provider's own: another's of the same name is another.
    """
    found = {record.external_id for record in pushed if record.resource == resource}
    asked = names - found
    if asked:
        rows = Summary.objects.for_team(team).filter(
            user_id=user_id, resource=resource, provider=provider, external_id__in=asked
        )
        found |= set(rows.values_list("external_id", flat=True))
    return found


def orphans_of(
    team: TeamContext, user_id: UUID, provider: str, parts: Sequence[ReadSummary], pushed: Sequence[SummaryRecord]
) -> list[ReadSummary]:
    """Those of a provider's parts whose parent is neither stored nor pushed beside them.

    At most two statements a resource.
    """
    orphans: list[ReadSummary] = []
    for resource in {part.parent.resource for part in parts if part.parent is not None}:
        names = {part.parent.external_id for part in parts if part.parent and part.parent.resource == resource}
        known = known_names(team, user_id, provider, resource, names - {""}, pushed)
        ids = {part.parent.id for part in parts if part.parent and part.parent.resource == resource} - {""}
        rows = Summary.objects.for_team(team).filter(user_id=user_id, resource=resource)
        parsed = [found for text in ids if (found := uuid_parse(text)) is not None]
        stored = {str(one) for one in rows.filter(id__in=parsed).values_list("id", flat=True)} if parsed else set()
        for part in parts:
            if part.parent is None or part.parent.resource != resource:
                continue
            given = uuid_parse(part.parent.id) if part.parent.id else None
            there = str(given) in stored if part.parent.id else part.parent.external_id in known
            if not there:
                orphans.append(part)
    return orphans
