"""Routes of the aggregation app at the team API; those of single resources come from the catalogue."""

from collections.abc import Iterator

from django.urls import URLPattern, path

from aggregation.api import (
    GROUPED,
    RAW,
    SUMMARY,
    UNGROUPED,
    DeviceViewSet,
    HypnogramViewSet,
    ImportViewSet,
    IntrospectionViewSet,
    ProfileViewSet,
    SleepStreamViewSet,
    SummaryViewSet,
    TimeseriesViewSet,
    WorkoutStreamViewSet,
)
from aggregation.catalogue import SERIES, SUMMARIES, SeriesSpec, SummarySpec
from aggregation.priorities_api import SourcePriorityViewSet
from aggregation.push_api import PushViewSet
from aggregation.query_api import QueryViewSet
from aggregation.selectors import HYPNOGRAM
from healthsvc.kernel.routing import route


def _series_routes(spec: SeriesSpec) -> Iterator[URLPattern]:
    """A resource's reads, and those of its single types where these have addresses of their own."""
    view = HypnogramViewSet if spec is HYPNOGRAM else TimeseriesViewSet
    for only_type in ("", *spec.sub_paths):
        address = "/".join(filter(None, ["v2/timeseries/<user_id>", spec.path, only_type]))
        yield path(f"{address}/grouped", view.as_view({"get": GROUPED}, spec=spec, only_type=only_type))
        yield path(address, view.as_view({"get": UNGROUPED}, spec=spec, only_type=only_type))


def _summary_routes(spec: SummarySpec) -> Iterator[URLPattern]:
    """A resource's read, and that of its raw form where it has one."""
    view = ProfileViewSet if spec.is_single else SummaryViewSet
    address = f"v2/summary/{spec.path}/<user_id>"
    yield path(address, view.as_view({"get": SUMMARY}, spec=spec))
    if spec.has_raw:
        yield path(f"{address}/raw", view.as_view({"get": RAW}, spec=spec))


urlpatterns = [
    route("aggregate/v1/user/<user_id>/query", QueryViewSet, {"post": "query_one"}),
    route("v2/team/source/priorities", SourcePriorityViewSet, {"get": "list", "patch": "update"}),
    route("v2/user/<user_id>/data", PushViewSet, {"post": "create"}),
    route("v2/user/<user_id>/import/apple_health", ImportViewSet, {"post": "create"}),
    route("v2/user/<user_id>/import/<job_id>", ImportViewSet, {"get": "retrieve"}),
    route("v2/user/<user_id>/device", DeviceViewSet, {"get": "list"}),
    route("v2/user/<user_id>/device/<device_id>", DeviceViewSet, {"get": "retrieve"}),
    route("v2/introspect/resources", IntrospectionViewSet, {"get": "resources"}),
    route("v2/timeseries/workouts/<workout_id>/stream", WorkoutStreamViewSet, {"get": "retrieve"}),
    route("v2/timeseries/sleep/<sleep_id>/stream", SleepStreamViewSet, {"get": "retrieve"}),
    route("v2/summary/devices/<user_id>/raw", DeviceViewSet, {"get": "raw"}),
    *(pattern for spec in SERIES for pattern in _series_routes(spec)),
    *(pattern for spec in SUMMARIES if not spec.raw_only for pattern in _summary_routes(spec)),
]
