"""Addresses of the management API: each app's own part, composed here."""

from django.urls import include, path
from django.views.generic import RedirectView

from healthsvc import documents
from webhooks.metrics_page import metrics

urlpatterns = [
    path("", RedirectView.as_view(url="/docs")),
    path("openapi.json", documents.openapi),
    path("docs", documents.docs),
    path("metrics", metrics),
    path("", include("management.urls")),
    path("", include("management.management_urls")),
    path("", include("users.management_urls")),
    path("", include("webhooks.management_urls")),
]

handler400 = "healthsvc.pages.bad_request"
handler403 = "healthsvc.pages.permission_denied"
handler404 = "healthsvc.pages.page_not_found"
handler500 = "healthsvc.pages.server_error"
