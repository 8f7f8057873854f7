"""Reads of payors: the platform's, which every team finds, and a team's own."""

from django.db.models import Q

from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import TeamQuerySet
from users.addresses import PostalAddress
from users.constants import PAYOR_SEARCH_WORDS_MAXIMUM, PAYORS_FOUND_MAXIMUM, PayorProvider, PayorSource
from users.models import Payor, PayorWord
from users.payor_catalogue import PayorInfo, platform_payors
from users.words import word_range, words_of


def payor_find(team: TeamContext, code: str) -> PayorInfo | None:
    """The platform's or the team's payor with this code, in any case; None for all others. A query for the latter."""
    wanted = code.strip().upper()
    known = platform_payors().get(wanted)
    if known is not None:
        return known
    row = Payor.objects.for_team(team).filter(code=wanted).first()
    return payor_info(row) if row else None


def payors_search(
    team: TeamContext,
    *,
    insurance_name: str = "",
    provider: PayorProvider | None = None,
    provider_payor_id: str = "",
) -> list[PayorInfo]:
    """Payors that are all of what is given: called so by words that begin so, known to a provider, under this id.

    The team's own first, by name; of the platform's those whose names begin so, by name, then the others. At most
    `PAYORS_FOUND_MAXIMUM` together. One query.
    """
    words = words_of(insurance_name)[:PAYOR_SEARCH_WORDS_MAXIMUM]
    rows = Payor.objects.for_team(team)
    for word in words:
        rows = rows.filter(pk__in=words_begun(team, word).values("payor_id"))
    wanted = Q()
    if provider:
        wanted &= Q(provider=provider.value)
    if provider_payor_id:
        wanted &= Q(provider_payor_id=provider_payor_id)
    own = [payor_info(row) for row in rows.filter(wanted).order_by("name", "code")[:PAYORS_FOUND_MAXIMUM]]
    shared = [
        payor
        for payor in platform_payors().values()
        if payor.is_called(words) and _is_known(payor, provider, provider_payor_id)
    ]
    shared.sort(key=lambda payor: not payor.begins(words))
    return (own + shared)[:PAYORS_FOUND_MAXIMUM]


def words_begun(team: TeamContext, word: str) -> TeamQuerySet[PayorWord]:
    """Words of the team's payors that begin so."""
    begin, end = word_range(word)
    return PayorWord.objects.for_team(team).filter(word__gte=begin, word__lt=end)


def payor_info(row: Payor) -> PayorInfo:
    """A team's payor as callers see it."""
    return PayorInfo(
        code=row.code,
        name=row.name,
        aliases=(),
        address=PostalAddress.from_json(row.address),
        source=PayorSource.TEAM,
        provider_ids={PayorProvider(row.provider): row.provider_payor_id} if row.provider else {},
    )


def _is_known(payor: PayorInfo, provider: PayorProvider | None, provider_payor_id: str) -> bool:
    """Whether a provider, or any, knows the payor, under this id or any."""
    if not provider and not provider_payor_id:
        return True
    return any(
        provider in (None, name) and provider_payor_id in ("", known) for name, known in payor.provider_ids.items()
    )
