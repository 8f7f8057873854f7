"""What this app puts into the archive of a user, and what the app below it keeps of one."""

from typing import Final
from uuid import UUID

from django.db.models import QuerySet

from healthsvc.kernel.exporting import internal, own_rows, table_part
from healthsvc.kernel.principal import TeamContext
from management import exporting as management_exporting
from users.models import Demographics, Erasure, Export, Insurance, User
from users.registry import Exporter
from users.states import ExportStatus


def _person(team: TeamContext, user_id: UUID) -> QuerySet[User]:
    return User.objects.for_team(team).filter(pk=user_id)


def _exports(team: TeamContext, user_id: UUID) -> QuerySet[Export]:
    """Without the one in hand, which would be told as being made for ever."""
    return Export.objects.for_team(team).filter(user_id=user_id).exclude(status=ExportStatus.MAKING)


USERS: Final = Exporter(
    parts=(
        table_part(
            "users.person",
            User,
            _person,
            opened=["fallback_birth_date"],
            about="You: the customer's own name for you (client_user_id), time zone and date of birth, and where from.",
        ),
        table_part(
            "users.demographics",
            Demographics,
            own_rows(Demographics),
            opened=["details"],
            about="Name, address and other details, as the customer gave them for laboratories.",
        ),
        table_part(
            "users.insurance",
            Insurance,
            own_rows(Insurance),
            opened=["details"],
            about="Health insurances, the former ones too.",
        ),
        table_part(
            "users.deletions",
            Erasure,
            own_rows(Erasure),
            left_out={
                "receipt_signature": "of an erasure that was done, which leaves nobody to export",
                "receipt_public_key": "of an erasure that was done, which leaves nobody to export",
                **internal("claim", "lease_until", "not_before", "woken_at", "failures"),
            },
            about="Deletions that were asked for and undone.",
        ),
        table_part(
            "users.exports",
            Export,
            _exports,
            left_out=internal("woken_at"),
            about="Archives like this one that were made before; this one is not among them.",
        ),
    ),
    left_out={},
)

MANAGEMENT: Final = Exporter(parts=management_exporting.PARTS, left_out=management_exporting.LEFT_OUT)
