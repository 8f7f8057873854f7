"""Staff in the admin: the scope their requests run in."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from healthsvc.kernel.scope import SystemScope, system_scope


class StaffScopeMiddleware:
    """Requests of signed-in staff to the admin see every team's rows."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path.startswith("/admin/") and request.user.is_authenticated and request.user.is_staff:
            with system_scope(SystemScope.STAFF):
                response = self.get_response(request)
                if hasattr(response, "render") and not getattr(response, "is_rendered", True):
                    response.render()
                return response
        return self.get_response(request)
