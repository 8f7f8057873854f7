"""A team in its days of grace: every door is shut, nothing goes on for it, and undoing brings everything back."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
from django.test import Client

from healthsvc.kernel import clock
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.scope import SystemScope, system_scope, team_scope
from links.catalogue import provider_find
from links.constants import LinkErrorType
from links.models import Connection, ProviderHook, Pull
from links.services import bulk, demo, hooks, link_codes, pull_rows, schedule, tokens
from links.services.hook_notices import _connections
from links.services.refusals import LeaseLost, LinkRefused
from links.services.sessions import session_use
from links.services.visits import end_open, end_ticket
from management import jobs, selectors, services
from management.models import BackgroundJob, TeamKey
from tests.clients import ApiClient
from tests.factories import Tenant, tenant_make, user_make
from tests.links.granting import stored
from tests.links.linking import browser, opened, token_make
from tests.links.signing_in import refresh, session_of, sign_in_token
from tests.management.organising import team_path
from tests.webhooks.portal_visiting import link_make, visitor
from tests.webhooks.staffing import superuser
from webhooks.services.portal import portal_link_find

PICTURE = b"\xff\xd8\xff\xe0 a picture"


def deleted(tenant: Tenant) -> None:
    """As the management address does it."""
    services.team_delete(team_id=tenant.team.id)


def undone(tenant: Tenant) -> None:
    """Within the days of grace."""
    services.team_undelete(organisation_id=tenant.team.organisation_id, team_id=tenant.team.id)


def shut_and_opened(tenant: Tenant, doors: Mapping[str, Callable[[], object]], *, shut: Mapping[str, object]) -> None:
    """What each door answers before, in the days of grace, and afterwards: the last as the first."""
    before = {name: look() for name, look in doors.items()}
    assert not {name for name in doors if before[name] == shut[name]}
    deleted(tenant)
    assert {name: look() for name, look in doors.items()} == shut
    undone(tenant)
    assert {name: look() for name, look in doors.items()} == before


def test_a_key_is_revoked_meanwhile_and_stays_so(
    team: Tenant, management_api: ApiClient, api: ApiClient, other_api: ApiClient, other_team: Tenant
) -> None:
    with system_scope(SystemScope.STAFF):
        key_id = TeamKey.objects.get(team=team.team).pk
        others = TeamKey.objects.get(team=other_team.team).pk
    deleted(team)
    path = f"/v1/org/{team.team.organisation_id}/team_api_keys/sandbox/us?api_key_id={key_id}&api_key_id={others}"
    told = management_api.delete(path).json()
    assert (told["success"], told["not_found"]) == ([str(key_id)], [str(others)])
    undone(team)
    assert (api.get("/v2/user").status_code, other_api.get("/v2/user").status_code) == (401, 200)


def test_staff_revoke_a_key_meanwhile(team: Tenant, api: ApiClient) -> None:
    with system_scope(SystemScope.STAFF):
        key_id = TeamKey.objects.get(team=team.team).pk
    deleted(team)
    chosen = {"action": "revoke", "_selected_action": [str(key_id)]}
    assert superuser().post("/admin/management/teamkey/", chosen).status_code == 302
    undone(team)
    assert api.get("/v2/user").status_code == 401


def test_what_people_and_their_devices_hold_opens_nothing_meanwhile(team: Tenant, api: ApiClient) -> None:
    user = user_make(team)
    page = token_make(team, user)
    text = parse_qs(urlsplit(page).query)["token"][0]
    client = browser()
    session_page = opened(client, token_make(team, user))
    pair = session_of(api, user)
    link_token = tokens.link_token_find(text)
    assert link_token is not None
    ticket = end_ticket(token=link_token, error_type=LinkErrorType.TOKEN_EXPIRED)
    logo = services.team_logo_set(team=team.context, content=PICTURE)
    person, widget = visitor(team), ApiClient()
    widget.headers["x-service-link-token"] = text
    link = parse_qs(urlsplit(link_make(team)).query)["token"][0]
    doors: dict[str, Callable[[], object]] = {
        "team key": lambda: api.get("/v2/user/").status_code,
        "link token": lambda: widget.get("/v2/link/providers").status_code,
        "hosted page": lambda: client.get(session_page).status_code,
        "end ticket": lambda: end_open(ticket=ticket) is not None,
        "device": lambda: session_use(pair["access_token"]) is not None,
        "logo": lambda: Client().get(f"/link/brand/{logo.pk}").status_code,
        "portal": lambda: person.get("/portal/").status_code,
        "portal link": lambda: portal_link_find(link) is not None,
    }
    shut = {
        "team key": 401, "link token": 401, "hosted page": 404, "end ticket": False, "device": False,
        "logo": 404, "portal": 401, "portal link": False,
    }  # fmt: skip
    shut_and_opened(team, doors, shut=shut)


def test_what_opens_once_waits_for_the_team(team: Tenant, api: ApiClient) -> None:
    user = user_make(team)
    pair, sign_in = session_of(api, user), sign_in_token(api, user)
    with team_scope(team.context):
        code = link_codes.link_code_create(team=team.context, user_id=user.id).code

    def exchanges() -> list[int]:
        return [
            ApiClient().post("/v2/session/exchange", {"sign_in_token": sign_in}).status_code,
            refresh(pair).status_code,
            ApiClient().post(f"/v2/link/code/exchange?code={code}&grant_type=sign_in_token").status_code,
        ]

    deleted(team)
    assert exchanges() == [401, 401, 404]
    undone(team)
    assert exchanges() == [200, 200, 200]


def test_whoever_signs_out_meanwhile_stays_signed_out(team: Tenant, api: ApiClient) -> None:
    user = user_make(team)
    pair = session_of(api, user)
    assert session_use(pair["access_token"]) is not None
    deleted(team)
    ApiClient().post("/v2/session/revoke", {"refresh_token": pair["refresh_token"]})
    undone(team)
    assert session_use(pair["access_token"]) is None


def _is_of(tenant: Tenant, pull_id: UUID) -> bool:
    with team_scope(tenant.context):
        return Pull.objects.filter(pk=pull_id).exists()


def test_nothing_is_pulled_and_nothing_connected_meanwhile(team: Tenant) -> None:
    neighbour = tenant_make(team.team.organisation, name="Neighbour")
    user, other = user_make(team), user_make(neighbour)
    connection = stored(team, user)
    stored(neighbour, other, external_user_id="ring-2")
    hook_row = ProviderHook(provider="oura", environment="sandbox", application_id=None, connection_id=None)

    def due_of(context: TeamContext) -> int:
        with system_scope(SystemScope.DELIVERY):
            return Pull.objects.filter(pk__in=pull_rows.pulls_due(), team_id=context.team_id).count()

    def taken_for_schedule() -> bool:
        with system_scope(SystemScope.DELIVERY):
            Connection.objects.update(next_pull_at=clock.now())
        return connection.pk in {one.pk for one in schedule.connections_take()}

    doors: dict[str, Callable[[], object]] = {
        "due": lambda: due_of(team.context),
        "schedule": taken_for_schedule,
        "notice": lambda: len(list(_connections(hook_row, "ring-1"))),
    }
    shut_and_opened(team, doors, shut={"due": 0, "schedule": False, "notice": 0})
    deleted(team)
    assert due_of(neighbour.context) > 0
    undone(team)
    mine = next(pull_id for pull_id in pull_rows.pulls_due() if _is_of(team, pull_id))
    begun = pull_rows.pull_claim(pull_id=mine)
    assert begun is not None
    deleted(team)
    with team_scope(team.context):
        with pytest.raises(LeaseLost):
            pull_rows.pull_keep(begun)
        with pytest.raises(LinkRefused):
            stored(team, user, external_user_id="ring-9")
    undone(team)
    with team_scope(team.context):
        pull_rows.pull_keep(begun)
        assert Connection.objects.get(pk=connection.pk).access_token == "access-1"


def test_bulk_operations_demos_and_subscriptions_rest_meanwhile(team: Tenant) -> None:
    user = user_make(team)
    connection = stored(team, user, expires_at=clock.now() - timedelta(days=1), external_user_id="demo")
    with team_scope(team.context):
        op = bulk.bulk_trigger_begin(team=team.context, provider=provider_find("oura"), user_ids=[user.id])
    hook_row = ProviderHook.objects.create(
        provider="oura", environment="sandbox", connection_id=connection.pk, verify_token="x", topic="mine",
        not_before=clock.now() - timedelta(hours=1), created_at=clock.now(),
    )  # fmt: skip
    deleted(team)
    others = hooks.hooks_reconcile()
    assert (bulk.bulk_ops_wake(), demo.demos_end()) == (0, 0)
    assert (bulk._claim(op.pk, None), hooks._claim(hook_row.pk)) == (None, None)
    undone(team)
    assert (bulk.bulk_ops_wake(), hooks.hooks_reconcile() - others, demo.demos_end()) == (1, 1, 1)


def test_jobs_stop_and_are_taken_up_afterwards(team: Tenant) -> None:
    with team_scope(team.context):
        job = jobs.job_create(team=team.context, kind="planted", user_id=None, parameters={})
    claimed = jobs.job_claim(job_id=job.pk)
    assert claimed is not None
    deleted(team)
    with team_scope(team.context):
        assert jobs.job_renew(claimed, progress_done=1) is False
        BackgroundJob.objects.update(lease_until=clock.now() - timedelta(seconds=1))
    assert (jobs.jobs_left_behind("planted"), jobs.job_claim(job_id=job.pk)) == ([], None)
    undone(team)
    assert jobs.jobs_left_behind("planted") == [job.pk]
    assert jobs.job_claim(job_id=job.pk) is not None


def test_the_management_address_knows_no_deleted_team(team: Tenant, management_api: ApiClient) -> None:
    path = team_path(team)
    assert management_api.delete(path).status_code == 200
    assert [management_api.get(path).status_code, management_api.patch(path, {"name": "x"}).status_code] == [404, 404]
    assert management_api.post(f"{path}/create_api_access_token", {"env": "sandbox"}).status_code == 404
    assert management_api.post(f"{path}/undo_delete").status_code == 200
    assert management_api.get(path).status_code == 200
    assert selectors.team_settings(team.context).company_name == ""
