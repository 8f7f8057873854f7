"""Shapes of deletions and erasures in and out."""

import base64
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.fields import TextField
from healthsvc.kernel.typing import JSONObject
from users.constants import CLIENT_USER_ID_MAXIMUM_CHARACTERS
from users.models import Erasure
from users.receipts import ALGORITHM
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
        help_text="JSON: whose environment, when it was requested, due and done, and how many rows of which table went."
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
    rows_erased = serializers.DictField(child=serializers.IntegerField(), help_text="By table.")
    receipt = ErasureReceipt(allow_null=True)


def erasure_json(erasure: Erasure) -> JSONObject:
    """What `ErasureAnswer` describes."""
    return {
        "erasure_id": str(erasure.id),
        "status": erasure.status,
        "requested_at": utc_text(erasure.requested_at),
        "due_at": utc_text(erasure.due_at),
        "undone_at": utc_text(erasure.undone_at) if erasure.undone_at else None,
        "erased_at": utc_text(erasure.erased_at) if erasure.erased_at else None,
        "rows_erased": erasure.rows_erased,
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
