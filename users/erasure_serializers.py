"""Shapes of deletions and erasures in and out."""

import base64
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.fields import TextField
from healthsvc.kernel.principal import Environment
from healthsvc.kernel.typing import JSONObject
from users.constants import CLIENT_USER_ID_MAXIMUM_CHARACTERS
from users.erasure_selectors import ErasurePage
from users.models import Erasure
from users.receipts import ALGORITHM
from users.registry import rows_split
from users.states import ErasureStatus


class UndoDeleteQuery(serializers.Serializer[Any]):
    """Who is to be brought back, in one of two ways."""

    user_id = serializers.UUIDField(required=False, help_text="User ID to undo deletion.")
    client_user_id = TextField(
        required=False, max_length=CLIENT_USER_ID_MAXIMUM_CHARACTERS, help_text="Client User ID to undo deletion."
    )


class UndoDeleteAnswer(serializers.Serializer[Any]):
    """That it worked."""

    success = serializers.BooleanField()


class UserDeletedAnswer(serializers.Serializer[Any]):
    """That the user is deleted, and when their data go."""

    success = serializers.BooleanField()
    erasure_id = serializers.UUIDField(help_text="What `GET /v2/user/erasure/{erasure_id}` asks for.")
    due_at = serializers.DateTimeField(help_text="Until then the deletion can be undone.")


class ErasureReceipt(serializers.Serializer[Any]):
    """What proves the erasure: a text, and a signature over its UTF-8 bytes."""

    text = serializers.CharField(
        help_text="JSON: whose environment, when it was requested, due and done, how many rows of which table went,"
        " how many were emptied, what is kept, and how many grants could not be taken back at their vendors."
        " Names the person by a keyed hash alone."
    )
    algorithm = serializers.ChoiceField(choices=[ALGORITHM])
    signature = serializers.CharField(help_text="Base64.")
    public_key = serializers.CharField(help_text="Base64; the same in every receipt of this service.")


@extend_schema_serializer(component_name="UserErasure")
class ErasureAnswer(serializers.Serializer[Any]):
    """How far an erasure is. Stays after the person's data are gone."""

    erasure_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=[status.value for status in ErasureStatus])
    requested_at = serializers.DateTimeField()
    due_at = serializers.DateTimeField()
    undone_at = serializers.DateTimeField(allow_null=True)
    erased_at = serializers.DateTimeField(allow_null=True)
    rows_erased = serializers.DictField(child=serializers.IntegerField(), help_text="Rows that went, by table.")
    rows_emptied = serializers.DictField(
        child=serializers.IntegerField(), help_text="Rows that stay without what leads to the person, by table."
    )
    grants_not_revoked = serializers.IntegerField(
        help_text="Grants that could not be taken back: the vendor offers no way, or refused until the end."
    )
    receipt = ErasureReceipt(allow_null=True)


class ErasureListQuery(serializers.Serializer[Any]):
    """Of which environment, and the page."""

    environment = serializers.ChoiceField(
        choices=[str(item) for item in Environment], required=False, help_text="Only of this environment."
    )
    next_cursor = serializers.UUIDField(required=False, help_text="The cursor of the page before.")


@extend_schema_serializer(component_name="UserErasures")
class ErasureListAnswer(serializers.Serializer[Any]):
    """A page of erasures, newest first."""

    erasures = ErasureAnswer(many=True)
    next_cursor = serializers.UUIDField(allow_null=True)


def erasures_json(page: ErasurePage) -> JSONObject:
    """What `ErasureListAnswer` describes."""
    return {
        "erasures": [erasure_json(row) for row in page.erasures],
        "next_cursor": str(page.next_cursor) if page.next_cursor else None,
    }


def erasure_json(erasure: Erasure) -> JSONObject:
    """What `ErasureAnswer` describes."""
    rows_erased, rows_emptied = rows_split(erasure.rows_erased)
    return {
        "erasure_id": str(erasure.id),
        "status": erasure.status,
        "requested_at": utc_text(erasure.requested_at),
        "due_at": utc_text(erasure.due_at),
        "undone_at": utc_text(erasure.undone_at) if erasure.undone_at else None,
        "erased_at": utc_text(erasure.erased_at) if erasure.erased_at else None,
        "rows_erased": rows_erased,
        "rows_emptied": rows_emptied,
        "grants_not_revoked": erasure.grants_not_revoked,
        "receipt": _receipt_json(erasure),
    }


def _receipt_json(erasure: Erasure) -> JSONObject | None:
    if erasure.receipt_signature is None or erasure.receipt_public_key is None:
        return None
    return {
        "text": erasure.receipt,
        "algorithm": ALGORITHM,
        "signature": base64.b64encode(bytes(erasure.receipt_signature)).decode(),
        "public_key": base64.b64encode(bytes(erasure.receipt_public_key)).decode(),
    }
