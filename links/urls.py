"""Routes of the links app at the team API, and its pages."""

from django.urls import path

from healthsvc.kernel.routing import route
from links import pages
from links.api import LinkTokenViewSet, UserConnectionViewSet, UserRefreshViewSet
from links.introspection_api import HistoricalPullViewSet

urlpatterns = [
    route("v2/introspect/historical_pull", HistoricalPullViewSet, {"get": "list"}),
    route("v2/link/token", LinkTokenViewSet, {"post": "create"}),
    route("v2/user/providers/<user_id>", UserConnectionViewSet, {"get": "list"}),
    route("v2/user/refresh/<user_id>", UserRefreshViewSet, {"post": "create"}),
    path("link/open", pages.open_token),
    path("link/callback/<slug:slug>", pages.callback),
    path("link/<uuid:session_id>", pages.providers, name="link_providers"),
    path("link/<uuid:session_id>/close", pages.close, name="link_close"),
    path("link/<uuid:session_id>/result", pages.result, name="link_result"),
    path("link/<uuid:session_id>/provider/<slug:slug>", pages.consent, name="link_consent"),
    path("link/<uuid:session_id>/provider/<slug:slug>/continue", pages.depart, name="link_depart"),
]
