"""Routes of this app at the management address."""

from healthsvc.kernel.routing import route
from users.team_erasure_api import TeamErasureViewSet

urlpatterns = [
    route("v1/org/<org_id>/team/<team_id>/erasure", TeamErasureViewSet, {"get": "list"}),
]
