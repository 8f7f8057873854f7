"""The course of a workout or a night over HTTP."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from aggregation import selectors
from aggregation.catalogue import WORKOUT_STREAM
from aggregation.serializers import sleep_stream_shape, workout_stream_shape
from aggregation.shapes import sleep_stream_json, workout_stream_json
from healthsvc.kernel.api import Access, ServiceViewSet


class WorkoutStreamViewSet(ServiceViewSet):
    """The course of a workout."""

    access = Access.TEAM

    @extend_schema(
        operation_id="get_workout_stream",
        summary="Read a workout's stream",
        responses=workout_stream_shape(WORKOUT_STREAM),
        tags=["Timeseries"],
    )
    def retrieve(self, request: Request, workout_id: UUID) -> Response:
        """Parallel arrays in order of time, null where a moment has no value; a channel nobody measured is empty."""
        return Response(workout_stream_json(WORKOUT_STREAM, selectors.workout_stream(self.team, workout_id)))


class SleepStreamViewSet(ServiceViewSet):
    """The course of a night."""

    access = Access.TEAM

    @extend_schema(
        operation_id="get_sleep_stream",
        summary="Read a sleep's stream",
        responses=sleep_stream_shape(selectors.SLEEP_STREAM),
        tags=["Timeseries"],
    )
    def retrieve(self, request: Request, sleep_id: UUID) -> Response:
        """What the sleep's own provider measured between its start and end, and the stages of its sleep cycle."""
        return Response(sleep_stream_json(selectors.sleep_stream(self.team, sleep_id)))
