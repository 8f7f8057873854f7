"""Shapes of the audit trail."""

from typing import Any, Final
from uuid import UUID

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.fields import InstantField, TextField, WholeNumberField
from healthsvc.kernel.principal import PrincipalKind
from healthsvc.kernel.typing import JSONObject
from management import trail_seals
from management.models import AccessRecord, AccessSeal, OrganisationRecord
from management.trail_export import ExportFormat, record_json
from management.trail_verification import Fault, Verification

Serializer = serializers.Serializer[Any]

LIST_LIMIT: Final = 50
LIST_LIMIT_MAXIMUM: Final = 500
SEALS_LIMIT_MAXIMUM: Final = 100
ACTOR_KINDS: Final = [str(kind) for kind in PrincipalKind]
_SHORT_PAGE_HELP: Final = "null after the last page. A page may be short, or empty, and have a next one."


class _TimesQuery(Serializer):
    after = InstantField(required=False, help_text="From this instant on.")
    before = InstantField(required=False, help_text="Until just before this instant.")


class _PersonFilterQuery(_TimesQuery):
    actor_kind = serializers.ChoiceField(required=False, choices=ACTOR_KINDS)
    actor_id = TextField(required=False, max_length=64, help_text="The key, session, staff login or piece of work.")
    action = TextField(
        required=False, max_length=200, help_text="As records have it, such as `GET /v2/user/<user_id>`."
    )
    request_id = TextField(required=False, max_length=64)
    address = TextField(required=False, max_length=45)
    status_code = WholeNumberField(required=False, min_value=100, max_value=599)


class _FilterQuery(_PersonFilterQuery):
    user_id = serializers.UUIDField(required=False, help_text="Whose data it was, also after an erasure.")


class AccessListQuery(_FilterQuery):
    """Which records are wanted; filters combine."""

    next_cursor = serializers.UUIDField(required=False, help_text="The cursor of the page before.")
    limit = WholeNumberField(default=LIST_LIMIT, min_value=1, max_value=LIST_LIMIT_MAXIMUM)


class AccessExportQuery(_FilterQuery):
    """Which records are wanted, and as what."""

    form = serializers.ChoiceField(default=str(ExportFormat.JSONL), choices=[str(form) for form in ExportFormat])


class PersonAccessQuery(_PersonFilterQuery):
    """Which records of one user are wanted; filters combine."""

    next_cursor = serializers.UUIDField(required=False, help_text="The cursor of the page before.")
    limit = WholeNumberField(default=LIST_LIMIT, min_value=1, max_value=LIST_LIMIT_MAXIMUM)


@extend_schema_serializer(component_name="AccessRecord")
class AccessAnswer(Serializer):
    """Who read or changed what."""

    id = serializers.UUIDField()
    occurred_at = serializers.DateTimeField()
    team_id = serializers.UUIDField()
    environment = serializers.CharField()
    user_id = serializers.UUIDField(allow_null=True, help_text="Whose data it was, where it was one person's.")
    actor_kind = serializers.CharField()
    actor_id = serializers.CharField()
    action = serializers.CharField()
    status_code = serializers.IntegerField(allow_null=True, help_text="Of the answer; null for what was no request.")
    object_ids = serializers.DictField(help_text="Ids only. `user_ids` are those whom a page showed.")
    request_id = serializers.CharField()
    address = serializers.CharField()
    position = serializers.IntegerField(help_text="The transaction it was written in: seals go by it.")


class AccessListAnswer(Serializer):
    """A page of records, newest first."""

    data = AccessAnswer(many=True)  # type: ignore[assignment]  # the API names it so
    next_cursor = serializers.UUIDField(allow_null=True, help_text=_SHORT_PAGE_HELP)


class SealListQuery(Serializer):
    """Which seals are wanted."""

    next_cursor = WholeNumberField(required=False, min_value=1, help_text="The cursor of the page before.")
    limit = WholeNumberField(default=LIST_LIMIT, min_value=1, max_value=SEALS_LIMIT_MAXIMUM)


@extend_schema_serializer(component_name="AccessSeal")
class SealAnswer(Serializer):
    """A link of the chain. Digests and the signature are in hex."""

    number = serializers.IntegerField()
    row_count = serializers.IntegerField()
    first_id = serializers.UUIDField()
    last_id = serializers.UUIDField()
    to_position = serializers.IntegerField()
    to_id = serializers.UUIDField()
    entries_digest = serializers.CharField()
    previous_digest = serializers.CharField()
    digest = serializers.CharField()
    signature = serializers.CharField()
    sealed_at = serializers.DateTimeField()


class SealListAnswer(Serializer):
    """A page of seals, newest first."""

    data = SealAnswer(many=True)  # type: ignore[assignment]  # the API names it so
    public_key = serializers.CharField(help_text="Ed25519, in hex.")
    next_cursor = serializers.IntegerField(allow_null=True)


class VerificationQuery(Serializer):
    """Which part of the chain is gone through."""

    first_number = WholeNumberField(default=1, min_value=1, max_value=2_147_483_647)
    limit = WholeNumberField(default=SEALS_LIMIT_MAXIMUM, min_value=1, max_value=SEALS_LIMIT_MAXIMUM)


class FindingAnswer(Serializer):
    """One thing that is not as it was sealed."""

    fault = serializers.ChoiceField(choices=[str(fault) for fault in Fault])
    seal_number = serializers.IntegerField()
    record_id = serializers.UUIDField(allow_null=True)


class VerificationAnswer(Serializer):
    """What came of it."""

    whole = serializers.BooleanField(help_text="Whether all of this part is as it was sealed.")
    records = serializers.IntegerField(help_text="Records that are as they were sealed.")
    dropped = serializers.IntegerField(help_text="Records whose time was over.")
    unsealed = serializers.IntegerField(
        allow_null=True, help_text="Records that wait for their seal; null until the chain's end was reached."
    )
    head = serializers.CharField(help_text="The digest of the last seal of this part, in hex.")
    faults = serializers.IntegerField()
    findings = FindingAnswer(many=True, help_text="The first hundred.")
    next_number = serializers.IntegerField(allow_null=True, help_text="Where to go on; null at the chain's end.")


class OrganisationRecordQuery(Serializer):
    """Which page is wanted."""

    next_cursor = serializers.UUIDField(required=False, help_text="The cursor of the page before.")


@extend_schema_serializer(component_name="OrganisationRecord")
class OrganisationRecordAnswer(Serializer):
    """Who changed what in the organisation."""

    id = serializers.UUIDField()
    occurred_at = serializers.DateTimeField()
    actor_kind = serializers.CharField()
    actor_id = serializers.CharField()
    action = serializers.CharField()
    object_ids = serializers.DictField()
    request_id = serializers.CharField()
    address = serializers.CharField()


class OrganisationRecordListAnswer(Serializer):
    """A page of an organisation's trail, newest first."""

    data = OrganisationRecordAnswer(many=True)  # type: ignore[assignment]  # the API names it so
    next_cursor = serializers.UUIDField(allow_null=True)


def access_list_json(records: list[AccessRecord], next_cursor: UUID | None) -> JSONObject:
    """A page of records."""
    return {
        "data": [record_json(record) for record in records],
        "next_cursor": None if next_cursor is None else str(next_cursor),
    }


def seal_json(seal: AccessSeal) -> JSONObject:
    """One seal."""
    return {
        "number": seal.number,
        "row_count": seal.row_count,
        "first_id": str(seal.first_id),
        "last_id": str(seal.last_id),
        "to_position": seal.to_position,
        "to_id": str(seal.to_id),
        "entries_digest": bytes(seal.entries_digest).hex(),
        "previous_digest": bytes(seal.previous_digest).hex(),
        "digest": bytes(seal.digest).hex(),
        "signature": bytes(seal.signature).hex(),
        "sealed_at": utc_text(seal.sealed_at),
    }


def seal_list_json(seals: list[AccessSeal], limit: int) -> JSONObject:
    """A page of seals, of which one more was read."""
    page = seals[:limit]
    return {
        "data": [seal_json(seal) for seal in page],
        "public_key": trail_seals.public_key().hex(),
        "next_cursor": page[-1].number if len(seals) > limit else None,
    }


def verification_json(found: Verification) -> JSONObject:
    """What came of going through a part of a chain."""
    return {
        "whole": found.whole,
        "records": found.records,
        "dropped": found.dropped,
        "unsealed": found.unsealed,
        "head": found.head,
        "faults": found.faults,
        "findings": [
            {
                "fault": str(one.fault),
                "seal_number": one.number,
                "record_id": None if one.record_id is None else str(one.record_id),
            }
            for one in found.findings
        ],
        "next_number": found.next_number,
    }


def organisation_record_json(record: OrganisationRecord) -> JSONObject:
    """One change in an organisation."""
    return {
        "id": str(record.pk),
        "occurred_at": utc_text(record.occurred_at),
        "actor_kind": record.actor_kind,
        "actor_id": record.actor_id,
        "action": record.action,
        "object_ids": record.object_ids,
        "request_id": record.request_id,
        "address": record.address,
    }
