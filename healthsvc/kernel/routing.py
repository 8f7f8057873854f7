"""URL patterns as the API names them: one function, so that every route reads the same."""

from collections.abc import Mapping

from django.urls import URLPattern, path

from healthsvc.kernel.api import ServiceViewSet


def route(pattern: str, view: type[ServiceViewSet], methods: Mapping[str, str]) -> URLPattern:
    """`route("v2/user/<user_id>", UserViewSet, {"get": "retrieve"})`; a last slash in requests is served too."""
    return path(pattern, view.as_view(dict(methods)))
