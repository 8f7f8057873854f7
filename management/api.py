"""Health and readiness, at both addresses."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel.api import Access, ServiceViewSet
from management.health import readiness
from management.serializers import HealthAnswer, ReadyAnswer


class HealthViewSet(ServiceViewSet):
    """For load balancers and operators; open to everyone, tells nothing else."""

    access = Access.PUBLIC
    audited = False

    @extend_schema(operation_id="health", summary="Is the process up", responses=HealthAnswer, tags=["Health"], auth=[])
    def alive(self, request: Request) -> Response:
        """The process answers."""
        return Response({"status": "ok"})

    @extend_schema(
        operation_id="ready",
        summary="Can the service work",
        responses={200: ReadyAnswer, 503: ReadyAnswer},
        tags=["Health"],
        auth=[],
    )
    def ready(self, request: Request) -> Response:
        """Database, broker and worker, each `ok` or `failed`; 503 unless all are."""
        found = readiness()
        words = {True: "ok", False: "failed"}
        return Response(
            {
                "status": "ready" if found.ready else "not_ready",
                "database": words[found.database],
                "broker": words[found.broker],
                "worker": words[found.worker],
                "worker_seen_seconds_ago": found.worker_seen_seconds_ago,
            },
            status=200 if found.ready else 503,
        )
