"""Routes of this app at both addresses."""

from healthsvc.kernel.routing import route
from management.api import HealthViewSet

urlpatterns = [
    route("healthz", HealthViewSet, {"get": "alive"}),
    route("readyz", HealthViewSet, {"get": "ready"}),
]
