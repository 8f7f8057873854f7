"""Routes of the aggregation app at the team API; those of single resources come from the catalogue."""

from django.urls import path

from aggregation.api import GROUPED, SUMMARY, UNGROUPED, ImportViewSet, SummaryViewSet, TimeseriesViewSet
from aggregation.catalogue import SERIES, SUMMARIES
from aggregation.query_api import QueryViewSet
from healthsvc.kernel.routing import route

urlpatterns = [
    route("aggregate/v1/user/<user_id>/query", QueryViewSet, {"post": "query_one"}),
    route("v2/user/<user_id>/import/apple_health", ImportViewSet, {"post": "create"}),
    route("v2/user/<user_id>/import/<job_id>", ImportViewSet, {"get": "retrieve"}),
    *(
        path(f"v2/timeseries/<user_id>/{spec.path}/grouped", TimeseriesViewSet.as_view({"get": GROUPED}, spec=spec))
        for spec in SERIES
    ),
    *(
        path(f"v2/timeseries/<user_id>/{spec.path}", TimeseriesViewSet.as_view({"get": UNGROUPED}, spec=spec))
        for spec in SERIES
    ),
    *(
        path(f"v2/summary/{spec.path}/<user_id>", SummaryViewSet.as_view({"get": SUMMARY}, spec=spec))
        for spec in SUMMARIES
    ),
]
