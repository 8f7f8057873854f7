"""Routes of the users app at the team API. Order matters: fixed words stand before `<user_id>`."""

from healthsvc.kernel.routing import route
from users.api import UserViewSet

urlpatterns = [
    route("v2/user", UserViewSet, {"get": "list", "post": "create"}),
    route("v2/user/resolve/<path:client_user_id>", UserViewSet, {"get": "resolve"}),
    route("v2/user/<user_id>", UserViewSet, {"get": "retrieve", "patch": "partial_update"}),
]
