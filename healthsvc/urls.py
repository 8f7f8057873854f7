"""Addresses of the team API, its pages, the admin and the documentation."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from healthsvc import documents

urlpatterns = [
    path("", RedirectView.as_view(url="/docs")),
    path("admin", RedirectView.as_view(url="/admin/")),
    path("openapi.json", documents.openapi),
    path("docs", documents.docs),
    path("admin/", admin.site.urls),
    path("", include("management.urls")),
    path("", include("users.urls")),
    path("", include("webhooks.urls")),
    path("", include("aggregation.urls")),
    path("", include("links.urls")),
]

handler400 = "healthsvc.pages.bad_request"
handler403 = "healthsvc.pages.permission_denied"
handler404 = "healthsvc.pages.page_not_found"
handler500 = "healthsvc.pages.server_error"
