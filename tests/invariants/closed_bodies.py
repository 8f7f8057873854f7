"""What requests say beside the ids of objects, so that nothing else is wrong with them: by operation, where needed."""

from datetime import timedelta
from typing import Any, Final

from healthsvc.kernel import clock
from tests.users.insuring import insurance_body, payor_body
from tests.users.patients import patient_body

_PRIORITIES: Final = {"data_type": "sleep", "priorities": {"oura": 1}}
_BINDING: Final = {"role": "team_admin", "team_id": ""}
_START: Final = "2026-01-01"
_YESTERDAY: Final = clock.utc_text(clock.now() - timedelta(days=1))
_WEBHOOK: Final = "/v1/org/<org_id>/team/<team_id>/<environment>/webhook"

#: Parts of paths that name no object.
PLACES: Final[dict[str, str]] = {
    "env": "sandbox",
    "environment": "sandbox",
    "oauth_provider": "oura",
    "provider": "oura",
    "region": "us",
}
_TELEPHONE: Final = {"provider": "apple_health_kit"}
PLACES_HERE: Final[dict[str, dict[str, str]]] = {
    "DELETE /v2/user/<user_id>/<provider>": _TELEPHONE,
    "POST /v2/link/provider/manual/<provider>": _TELEPHONE,
}
#: Query parameters that have to be there.
QUERIES: Final[dict[str, str]] = {"start_date": _START, "diagnosis_query": "diab"}
QUERIES_HERE: Final[dict[str, dict[str, str]]] = {
    "GET /v3/insurance/search/payor": {"insurance_name": "payor"},
}
#: Bodies that their schemas do not make.
BODIES: Final[dict[str, Any]] = {
    "PATCH /v2/user/<user_id>": {"fallback_time_zone": "UTC"},
    "PATCH /v2/user/<user_id>/info": patient_body(),
    "POST /v2/user/<user_id>/insurance": insurance_body(),
    "POST /v2/user/<user_id>/sync_complete": {
        "provider": "apple_health_kit",
        "resources": ["steps"],
        "stage": "historical",
        "start": "2026-01-01T00:00:00Z",
        "end": "2026-03-01T00:00:00Z",
    },
    "POST /aggregate/v1/user/<user_id>/query": {
        "timeframe": {"type": "relative", "anchor": _START, "past": {"unit": "day", "value": 1}},
        "queries": [{"select": [{"func": "mean", "arg": {"heartrate": "value"}}]}],
    },
    "PATCH /v2/team/source/priorities": _PRIORITIES,
    "POST /v3/insurance/search/payor": {"insurance_name": "payor"},
    "POST /v3/payor": payor_body(),
    "POST /v2/user/<user_id>/data": {
        "provider": "manual",
        "timeseries": {"heartrate": [{"timestamp": "2026-03-01T08:00:00Z", "value": 60}]},
    },
    "PATCH /v1/org/<org_id>": {"name": "Renamed"},
    "POST /v1/org/<org_id>/management_key": {"label": "new", "role": "team_admin", "team_role_bindings": [_BINDING]},
    "PATCH /v1/org/<org_id>/member/<member_id>": {"role": "team_admin", "team_role_bindings": [_BINDING]},
    "POST /v1/org/<org_id>/invite": {
        "email": "new@example.com",
        "role": "team_admin",
        "team_role_bindings": [_BINDING],
    },
    "POST /v1/org/<org_id>/team/<team_id>/scope_requirements": {
        "provider": "oura",
        "required": ["personal"],
        "optional": ["daily"],
    },
    f"POST {_WEBHOOK}": {"url": "https://example.com/new"},
    f"POST {_WEBHOOK}/<webhook_id>/recover": {"since": _YESTERDAY},
    f"POST {_WEBHOOK}/<webhook_id>/replay_missing": {"since": _YESTERDAY},
}
#: Bodies that are no JSON.
RAW_BODIES: Final[dict[str, tuple[str, bytes]]] = {
    "POST /v2/user/<user_id>/import/apple_health": (
        "application/xml",
        b'<?xml version="1.0"?><HealthData></HealthData>',
    )
}
