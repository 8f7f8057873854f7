"""Imports of export files as the API shows them."""

from typing import Any

from rest_framework import serializers

from healthsvc.kernel.typing import JSONObject
from management.constants import JobStatus
from management.models import BackgroundJob

Serializer = serializers.Serializer[Any]


class ImportAccepted(Serializer):
    """An import that was taken on."""

    job_id = serializers.UUIDField()
    status = serializers.CharField()


class ImportProgress(Serializer):
    """How far an import is, in bytes of the file."""

    done = serializers.IntegerField()
    total = serializers.IntegerField()


class ImportRefusal(Serializer):
    """Records that were not stored: the export's own type name, and why."""

    kind = serializers.CharField()
    reason = serializers.CharField()
    count = serializers.IntegerField()


class ImportReceipt(Serializer):
    """What an import did: records read by the export's type names; stored, replaced, unchanged by resource.

    `refused` could not be stored as they were; `left_out` are kinds the service has no place for.
    """

    read = serializers.DictField(child=serializers.IntegerField())
    stored = serializers.DictField(child=serializers.IntegerField())
    replaced = serializers.DictField(child=serializers.IntegerField())
    unchanged = serializers.DictField(child=serializers.IntegerField())
    refused = ImportRefusal(many=True)
    left_out = ImportRefusal(many=True)


class ImportAnswer(Serializer):
    """Where an import stands. `status` is queued, running, succeeded or failed."""

    job_id = serializers.UUIDField()
    status = serializers.CharField()
    progress = ImportProgress()
    receipt = ImportReceipt(allow_null=True)
    error_code = serializers.CharField(allow_null=True, help_text="Why the file as a whole was refused.")
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


def import_json(job: BackgroundJob) -> JSONObject:
    """What `ImportAnswer` describes."""
    ended = job.status in (JobStatus.SUCCEEDED, JobStatus.FAILED)
    return {
        "job_id": str(job.pk),
        "status": str(job.status),
        "progress": {"done": job.progress_done, "total": job.progress_total},
        "receipt": job.receipt if ended and job.receipt else None,
        "error_code": job.error_code or None,
        "created_at": job.created_at.isoformat(),
        "ended_at": job.ended_at.isoformat() if job.ended_at else None,
    }
