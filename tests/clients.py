"""A client for tests that holds every JSON answer against the OpenAPI document."""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.test import Client

from healthsvc.kernel.address import ADDRESS_KEY, MANAGEMENT_ADDRESS
from healthsvc.kernel.json_io import json_encode
from tests.documents import check_documented

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Answer


class ApiClient:
    """Calls the service as an existing client would, at the team API or, with a management key, there."""

    def __init__(self, *, team_key: str | None = None, management_key: str | None = None, at: str = "team") -> None:
        self.headers: dict[str, str] = {}
        if team_key:
            self.headers["x-service-api-key"] = team_key
        if management_key:
            self.headers["X-Management-Key"] = management_key
            at = "management"
        self.at_management = at == "management"
        self.client = Client(raise_request_exception=False)

    def get(self, path: str, query: dict[str, Any] | None = None, **headers: str) -> "Answer":
        """GET; a list in `query` becomes a repeated key."""
        if query:
            path = f"{path}?{urlencode(query, doseq=True)}"
        return self.request("GET", path, headers=headers)

    def post(self, path: str, json: Any = None, **headers: str) -> "Answer":
        """POST with a JSON body, or none."""
        return self.request("POST", path, json=json, headers=headers)

    def patch(self, path: str, json: Any = None) -> "Answer":
        """PATCH with a JSON body."""
        return self.request("PATCH", path, json=json)

    def put(self, path: str, json: Any = None) -> "Answer":
        """PUT with a JSON body."""
        return self.request("PUT", path, json=json)

    def delete(self, path: str) -> "Answer":
        """DELETE."""
        return self.request("DELETE", path)

    def request(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        data: bytes | None = None,
        content_type: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> "Answer":
        """Any request; underscores in the names of `headers` become hyphens."""
        body = data if data is not None else b"" if json is None else json_encode(json)
        extra: dict[str, Any] = {ADDRESS_KEY: MANAGEMENT_ADDRESS} if self.at_management else {}
        sent = {**self.headers, **{name.replace("_", "-"): value for name, value in (headers or {}).items()}}
        response = self.client.generic(method, path, body, content_type=content_type, headers=sent, **extra)
        check_documented(response, method, self.at_management)
        return response
