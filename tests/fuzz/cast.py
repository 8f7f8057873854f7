"""A team with something behind most addresses, and the values that name it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from aggregation.services import health_data_store
from healthsvc.kernel import clock
from healthsvc.kernel.scope import team_scope
from links.services.device_connections import device_connect
from management import services as management_services
from management.jobs import job_create
from tests import factories
from tests.aggregation.samples import heartrates, us
from tests.aggregation.summaries import cycle, night, of_resource, run
from tests.clients import ApiClient
from tests.documents import MANAGEMENT_URLCONF, TEAM_URLCONF
from tests.factories import Tenant
from tests.links.granting import stored
from tests.links.signing_in import session_of
from tests.users.erasing import deleted
from tests.users.insuring import insurance_body, payor_body
from tests.users.patients import patient_body
from users.models import User

HOOK_URL: Final = "https://hooks.example.com/a"


@dataclass(frozen=True, slots=True)
class Cast:
    """Whose data are asked for: keys, and by address and name of a parameter the value that leads to something."""

    team_key: str
    management_key: str
    known: Mapping[str, Mapping[str, str]]

    def headers(self, urlconf: str) -> dict[str, str]:
        """What opens everything at an address."""
        if urlconf == MANAGEMENT_URLCONF:
            return {"X-Management-Key": self.management_key}
        return {"x-service-api-key": self.team_key}


def cast_make() -> Cast:
    """The team and its people, made as customers make them where that is quick."""
    organisation = factories.organisation_make()
    tenant = factories.tenant_make(organisation)
    management_key = factories.management_key_make(organisation)
    team_api = ApiClient(team_key=tenant.key)
    management_api = ApiClient(management_key=management_key)
    user = factories.user_make(tenant, client_user_id="somebody", fallback_time_zone="Europe/Berlin")
    gone = factories.user_make(tenant, client_user_id="gone")
    unconnected = factories.user_make(tenant, client_user_id="unconnected")
    known = {
        "org_id": str(organisation.pk),
        "team_id": str(tenant.team.pk),
        "user_id": str(user.pk),
        "unconnected_user_id": str(unconnected.pk),
        "client_user_id": "somebody",
        "provider": "oura",
        "oauth_provider": "oura",
        "environment": "sandbox",
        "env": "sandbox",
        "region": "us",
        "erasure_id": str(deleted(tenant, gone.pk).pk),
        **_managed(tenant, management_api),
        **_person_filled(tenant, user, team_api),
    }
    at_management = {**known, "job_id": _repair(tenant, known["webhook_id"], management_api)}
    at_management["message_id"] = _first(management_api.get(f"{_hooks(tenant)}/webhook_message"), "data")["id"]
    return Cast(tenant.key, management_key, {TEAM_URLCONF: known, MANAGEMENT_URLCONF: at_management})


def _person_filled(tenant: Tenant, user: User, api: ApiClient) -> dict[str, str]:
    path = f"/v2/user/{user.pk}"
    _taken(api.patch(f"{path}/info", patient_body()))
    _taken(api.post(f"{path}/insurance", insurance_body()))
    _taken(api.post("/v3/payor", payor_body()))
    link_token = _taken(api.post("/v2/link/token", {"user_id": str(user.pk)}))["link_token"]
    code = _taken(api.post(f"/v2/link/code/create?user_id={user.pk}"))["code"]
    pair = session_of(api, user)
    session = _first(api.get(f"{path}/sessions"), "sessions")
    stored(tenant, user)
    with team_scope(tenant.context):
        device_connect(team=tenant.context, user_id=user.pk, provider="apple_health_kit", provider_id="")
        job = job_create(team=tenant.context, kind="apple_health_import", user_id=user.pk, parameters={})
    _health_stored(tenant, user)
    return {
        "export_id": _taken(api.post(f"{path}/export"))["export_id"],
        "link_token": link_token,
        "token": link_token,
        "code": code,
        "refresh_token": pair["refresh_token"],
        "session_id": session["session_id"],
        "job_id": str(job.pk),
        **_summaries(api, user),
    }


def _health_stored(tenant: Tenant, user: User) -> None:
    begin = us(2026, 3, 2, 17)
    others = ("activity", "body", "meal", "menstrual_cycle", "profile", "electrocardiogram")
    with team_scope(tenant.context):
        health_data_store(
            team=tenant.context,
            user_id=user.pk,
            series=(heartrates({begin: 120.0, begin + 60_000_000: 121.5}),),
            summaries=(run(), night(), cycle(), *(of_resource(name) for name in others)),
        )


def _summaries(api: ApiClient, user: User) -> dict[str, str]:
    found = {}
    for resource, name in (("sleep", "sleep_id"), ("workouts", "workout_id")):
        answer = api.get(f"/v2/summary/{resource}/{user.pk}", {"start_date": "2026-03-01"})
        found[name] = _first(answer, resource)["id"]
    return found


def _managed(tenant: Tenant, api: ApiClient) -> dict[str, str]:
    organisation = tenant.team.organisation_id
    base = f"/v1/org/{organisation}"
    invite = management_services.invite_send(
        organisation_id=organisation, email="i@a.example", role="no_role", team_ids=[], created_by="test"
    )
    member = management_services.member_create(
        organisation_id=organisation, name="Ada", email="ada@a.example", role="org_admin"
    )
    return {
        "webhook_id": _taken(api.post(f"{_hooks(tenant)}/webhook", {"url": HOOK_URL}))["id"],
        "invite_id": str(invite[1]),
        "member_id": str(member.pk),
        "api_key_id": _first(api.get(f"{base}/team_api_keys/sandbox/us"), "api_keys")["id"],
        "key_id": _first(api.get(f"{base}/management_key"), "data")["id"],
    }


def _repair(tenant: Tenant, webhook_id: str, api: ApiClient) -> str:
    since = clock.utc_text(clock.now() - timedelta(days=1))
    begun: str = _taken(api.post(f"{_hooks(tenant)}/webhook/{webhook_id}/recover", {"since": since}))["job_id"]
    return begun


def _hooks(tenant: Tenant) -> str:
    return f"/v1/org/{tenant.team.organisation_id}/team/{tenant.team.pk}/sandbox"


def _first(answer: Any, name: str) -> Any:
    return _taken(answer)[name][0]


def _taken(answer: Any) -> Any:
    assert answer.status_code < 300, answer.content
    return answer.json()
