"""What this app puts into the archive of a user, and what the app below it keeps of one."""

from typing import Final
from uuid import UUID

from django.db.models import QuerySet

from healthsvc.kernel.exporting import own_rows, table_part
from healthsvc.kernel.principal import TeamContext
from management import exporting as management_exporting
from users.models import Demographics, Erasure, Export, Insurance, User
from users.registry import Exporter


def _person(team: TeamContext, user_id: UUID) -> QuerySet[User]:
    return User.objects.for_team(team).filter(pk=user_id)


USERS: Final = Exporter(
    parts=(
        table_part("users.person", User, _person, opened=["fallback_birth_date"]),
        table_part("users.demographics", Demographics, own_rows(Demographics), opened=["details"]),
        table_part("users.insurance", Insurance, own_rows(Insurance), opened=["details"]),
        table_part(
            "users.deletions",
            Erasure,
            own_rows(Erasure),
            left_out={
                "receipt_signature": "of an erasure that was done, which leaves nobody to export",
                "receipt_public_key": "of an erasure that was done, which leaves nobody to export",
            },
        ),
        table_part("users.exports", Export, own_rows(Export)),
    ),
    left_out={},
)

MANAGEMENT: Final = Exporter(parts=management_exporting.PARTS, left_out=management_exporting.LEFT_OUT)
