"""Tenants that must see nothing of each other, each with one object of every kind and a row in every table."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final
from uuid import UUID, uuid4

from django.db import models, transaction

from aggregation.models import Summary
from aggregation.records import UNDATED, SummaryRecord
from aggregation.services import health_data_store
from healthsvc.kernel import clock
from healthsvc.kernel.principal import Environment, Principal, PrincipalKind, Role
from healthsvc.kernel.scope import team_scope
from links.models import Connection, DeviceSession
from links.services.sessions import sign_in_token_create
from links.services.tokens import link_token_create
from management import services as management_services
from management.jobs import job_create
from management.models import AccessRecord, ManagementKey, Organisation, OrganisationRecord, Team, TeamKey, TeamSettings
from management.services.members import invite_send, member_create
from tests.aggregation.summaries import RING, night, run
from tests.clients import ApiClient
from tests.factories import (
    Tenant,
    environment_make,
    management_key_make,
    organisation_make,
    tenant_make,
    user_make,
)
from tests.invariants.person_filling import Person, person_fill
from tests.invariants.person_tables import Table, our_models
from tests.links.linking import query_of
from tests.links.signing_in import link, session_of
from tests.users.erasing import deleted
from tests.users.insuring import insurance_body, patient_known, payor_body
from users.exporting.addresses import PARAMETER, address_make
from users.models import Export, Payor, PayorWord, User
from users.services.exports import export_request
from webhooks import services as webhook_services
from webhooks.models import Attempt, Endpoint, Event

_SOME_EVENT: Final = "daily.data.sleep.created"


@dataclass(slots=True)
class Estate:
    """What one team has in one environment: its ids by kind, and a mark that stands in everything it wrote."""

    tenant: Tenant
    mark: str
    #: What its people and devices hold, by name.
    held: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """How a failure calls it."""
        return f"{self.tenant.team.name} ({self.tenant.context.environment})"


@dataclass(frozen=True, slots=True)
class Cast:
    """`ours` and `production` are one team, `sibling` its organisation's other one, `theirs` another organisation's."""

    ours: Estate
    production: Estate
    sibling: Estate
    theirs: Estate

    @property
    def everybody(self) -> tuple[Estate, ...]:
        """All of them."""
        return (self.ours, self.production, self.sibling, self.theirs)

    def others(self, one: Estate) -> list[Estate]:
        """Those who are not this one."""
        return [estate for estate in self.everybody if estate is not one]


def team_owned() -> list[Table]:
    """Every table whose rows are a team's."""
    return [
        model
        for model in our_models()
        if {"team_id", "environment"} <= {str(column.column) for column in model._meta.local_fields}
    ]


def cast_make() -> Cast:
    """All of them, each with its estate."""
    first, second = organisation_make(name="Ours"), organisation_make(name="Theirs")
    ours = tenant_make(first, name="Ours")
    tenants = {
        "ours": ours,
        "production": environment_make(ours, Environment.PRODUCTION),
        "sibling": tenant_make(first, name="Sibling"),
        "theirs": tenant_make(second, name="Theirs"),
    }
    return Cast(**{name: estate_make(tenant) for name, tenant in tenants.items()})


def estate_make(tenant: Tenant) -> Estate:
    """One tenant's objects."""
    estate = Estate(tenant, f"mark{uuid4().hex[:8]}")
    with team_scope(tenant.context):
        for make in (_organisation, _people, _health_data, _devices, _webhooks):
            estate.ids.update(make(estate))
    _fill(estate)
    return estate


def _organisation(estate: Estate) -> dict[str, str]:
    organisation_id, mark = estate.tenant.team.organisation_id, estate.mark
    organisation = Organisation.objects.get(pk=organisation_id)
    team = estate.tenant.team
    integration_team = f"mark{team.pk.hex[-8:]}"
    Team.objects.filter(pk=team.pk).update(integration_team_id=integration_team)
    named: dict[str, Any] = {"organisation_id": organisation_id, "label": mark, "created_by": mark}
    estate.held["management_key"] = management_services.management_key_create(**named).text
    key = management_services.management_key_create(**named, role=Role.TEAM_ADMIN.value, team_ids=[team.pk])
    renamed = ApiClient(management_key=estate.held["management_key"])
    assert renamed.patch(f"/v1/org/{organisation_id}", {"name": organisation.name}).status_code == 200
    email = f"{mark}@example.com"
    member = member_create(organisation_id=organisation.pk, name=mark, email=email, role="org_admin")
    invite = invite_send(
        organisation_id=organisation.pk, email=f"i-{email}", role="org_admin", team_ids=[], created_by=mark
    )[1]
    team_key = TeamKey.objects.for_team(estate.tenant.context).get()
    TeamKey.objects.filter(pk=team_key.pk).update(label=mark)
    gone = management_services.team_create(organisation_id=organisation_id, name=f"{mark} gone", region="us")
    management_services.team_delete(team_id=gone.pk)
    return {
        "deleted_team": str(gone.pk),
        "integration_team": integration_team,
        "invite": str(invite),
        "management_key": str(key.key_id),
        "member": str(member.pk),
        "organisation": str(organisation_id),
        "organisation_record": str(OrganisationRecord.objects.filter(organisation_id=organisation_id).latest("pk").pk),
        "team": str(estate.tenant.team.pk),
        "actor": str(team_key.pk),
        "team_key": str(team_key.pk),
    }


def _people(estate: Estate) -> dict[str, str]:
    tenant, mark = estate.tenant, estate.mark
    user = user_make(tenant, client_user_id=f"{mark}-a", fallback_time_zone="Europe/Berlin")
    neighbour = user_make(tenant, client_user_id=f"{mark}-b")
    gone = user_make(tenant, client_user_id=f"{mark}-c")
    erasure = deleted(tenant, gone.pk)
    patient_known(tenant, user)
    api = ApiClient(team_key=tenant.key)
    payor = api.post("/v3/payor", payor_body(name=f"Payor {mark}"))
    body = insurance_body(member_id=mark, payor_code=payor.json()["payor_code"])
    assert api.post(f"/v2/user/{user.pk}/insurance", body).status_code == 200
    return {
        "client_user": f"{mark}-a",
        "deleted_client_user": f"{mark}-c",
        "deleted_user": str(gone.pk),
        "erasure": str(erasure.pk),
        "payor": payor.json()["payor_code"],
        "neighbour": str(neighbour.pk),
        "user": str(user.pk),
    }


def _health_data(estate: Estate) -> dict[str, str]:
    context, user_id = estate.tenant.context, UUID(estate.ids["user"])
    ring = replace(RING, device_id=estate.mark)
    profile = SummaryRecord("profile", ring, estate.mark, UNDATED, None, None, None, {"height": 170})
    records = [replace(record, source=ring) for record in (run(estate.mark), night(estate.mark), profile)]
    assert health_data_store(team=context, user_id=user_id, series=(), summaries=records, streams=()).refused == ()
    found = {row.resource: str(row.id) for row in Summary.objects.for_team(context).filter(user_id=user_id)}
    job = job_create(team=context, kind="apple_health_import", user_id=user_id, parameters={})
    devices = ApiClient(team_key=estate.tenant.key).get(f"/v2/user/{user_id}/device").json()
    export = export_request(team=context, user_id=user_id)[0]
    estate.ids["export_token"] = export_token(estate, export)
    return {
        "export": str(export.pk),
        "device": devices[0]["id"],
        "job": str(job.pk),
        "sleep": found["sleep"],
        "workout": found["workouts"],
    }


def export_token(estate: Estate, export: Export) -> str:
    """The token of a signed address, for this archive alone."""
    context = estate.tenant.context
    asked_by = Principal(kind=PrincipalKind.TEAM_KEY, key_id=UUID(estate.ids["team_key"]), team=context)
    return query_of(address_make(export, asked_by).url)[PARAMETER]


def _devices(estate: Estate) -> dict[str, str]:
    tenant, api = estate.tenant, ApiClient(team_key=estate.tenant.key)
    user = User.objects.for_team(tenant.context).get(pk=estate.ids["user"])
    link(tenant, user)
    pair = session_of(api, user)
    made = link_token_create(team=tenant.context, user_id=user.pk)
    estate.held.update(
        access_token=pair["access_token"],
        refresh_token=pair["refresh_token"],
        link_token=query_of(made.web_url)["token"],
        sign_in_token=sign_in_token_create(team=tenant.context, user_id=user.pk),
    )
    return {"session": str(DeviceSession.objects.for_team(tenant.context).get().pk)}


def _webhooks(estate: Estate) -> dict[str, str]:
    context, user_id = estate.tenant.context, UUID(estate.ids["user"])
    endpoint = webhook_services.endpoint_create(
        team=context, url=f"https://example.com/{estate.mark}", description=estate.mark
    )
    with transaction.atomic():
        data = {"note": estate.mark}
        event_id = webhook_services.event_emit(
            team=context, event_type=_SOME_EVENT, data=data, user_id=user_id, client_user_id=estate.mark
        )
    repair = webhook_services.recover_begin(
        team=context, endpoint_id=endpoint.pk, since=clock.now() - timedelta(hours=1)
    )
    return {
        "channel": f"user.{user_id}",
        "event": str(event_id),
        "message": f"msg_{event_id}",
        "repair": str(repair.pk),
        "webhook": str(endpoint.pk),
    }


def _fill(estate: Estate) -> None:
    """A row with the mark in every table, beside what was made above."""
    tenant = estate.tenant
    user = user_make(tenant, client_user_id=f"{estate.mark}-d")
    with team_scope(tenant.context):
        made: dict[Table, models.Model] = {
            Team: tenant.team,
            ManagementKey: ManagementKey.objects.get(pk=estate.ids["management_key"]),
            Endpoint: Endpoint.objects.get(pk=estate.ids["webhook"]),
            Event: Event.objects.get(pk=estate.ids["event"]),
            Payor: Payor.objects.get(code=estate.ids["payor"]),
            PayorWord: PayorWord.objects.get(word=estate.mark),
        }
        person_fill(Person(tenant, user, estate.mark, made), team_owned())
        Connection.objects.filter(user=user).update(user_id=estate.ids["user"], provider="oura", login="oauth")
        estate.ids["attempt"] = str(Attempt.objects.get().pk)
        estate.ids["access_record"] = str(AccessRecord.objects.latest("pk").pk)
        email = f"{estate.mark}@example.com"
        TeamSettings.objects.update(critical_result_notification_email=email, support_email=email, logo_url="")


def bound_key(estate: Estate) -> str:
    """A management key of one team alone."""
    organisation: Any = Organisation.objects.get(pk=estate.tenant.team.organisation_id)
    return management_key_make(organisation, role=Role.TEAM_ADMIN.value, team_ids=[estate.tenant.team.pk])
