"""Writes of payors that teams add for themselves."""

import secrets
from typing import Final

from django.db import IntegrityError, transaction

from healthsvc.kernel import clock
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.rows import team_values
from users.addresses import PostalAddress
from users.constants import PayorProvider
from users.models import Payor, PayorWord
from users.words import words_of

#: The platform's codes never hold a hyphen, so that no team's code is one of them.
_CODE_PREFIX: Final = "T-"
#: Without vowels and without what looks alike: codes are read out on the telephone, and spell nothing.
_CODE_CHARACTERS: Final = "23456789BCDFGHJKMNPQRTVWXZ"
#: 47 bits: with a million payors of one team the next code is taken once in a hundred million draws.
_CODE_LENGTH: Final = 10
_CODE_ONCE: Final = "users_payor_code_once"
_DRAWS_MAXIMUM: Final = 5


def payor_create(
    *,
    team: TeamContext,
    name: str,
    address: PostalAddress,
    provider: PayorProvider | None = None,
    provider_payor_id: str = "",
) -> Payor:
    """A payor of the team, with a code of its own. `provider` and `provider_payor_id` come together or not at all.

    Each call makes one, though there be another of that name: two plans of a company may differ in address alone.
    """
    payor = Payor(
        **team_values(team),
        name=name,
        address=address.as_json(),
        provider=provider.value if provider else "",
        provider_payor_id=provider_payor_id,
        created_at=clock.now(),
    )
    with transaction.atomic():
        _save_with_code(payor)
        PayorWord.objects.bulk_create(
            [PayorWord(**team_values(team), payor=payor, word=word) for word in words_of(name)]
        )
    return payor


def code_draw() -> str:
    """A code that is very likely nobody's."""
    return _CODE_PREFIX + "".join(secrets.choice(_CODE_CHARACTERS) for _ in range(_CODE_LENGTH))


def _save_with_code(payor: Payor) -> None:
    for draw in range(_DRAWS_MAXIMUM):
        payor.code = code_draw()
        try:
            with transaction.atomic():
                payor.save(force_insert=True)
        except IntegrityError as error:
            taken = getattr(getattr(error.__cause__, "diag", None), "constraint_name", None) == _CODE_ONCE
            if not taken or draw == _DRAWS_MAXIMUM - 1:
                raise
        else:
            return
