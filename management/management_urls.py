"""Routes of this app at the management address."""

from healthsvc.kernel.routing import route
from management.management_api import TeamViewSet

urlpatterns = [route("v1/org/<org_id>/team", TeamViewSet, {"get": "list"})]
