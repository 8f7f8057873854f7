"""What a team requires of its people at a provider: asked for, not to be left out, and nothing connected without it."""

import pytest
from django.test import Client

from healthsvc.kernel.rows import team_values
from healthsvc.kernel.scope import team_scope
from links.catalogue import provider_find
from links.choices import choices_of, is_something, scopes_left_out
from links.models import Connection, LinkSession, Revocation
from links.scope_requirements import Requirement, requirement_of
from links.services import bulk
from management import services
from management.models import ScopeRequirement
from tests.clients import ApiClient
from tests.factories import Tenant, user_make
from tests.links.granting import SCOPES, tokens_make
from tests.links.linking import browser, departed, opened, path_of, query_of, token_make
from tests.links.simulators import Person, Simulator
from tests.management.organising import team_path
from users.models import User

pytestmark = pytest.mark.django_db


def required(tenant: Tenant, provider: str = "oura", *scopes: str, optional: tuple[str, ...] = ()) -> None:
    """As the management address sets it."""
    services.scope_requirement_set(team=tenant.team, provider=provider, required=list(scopes), optional=list(optional))


def requirement(tenant: Tenant, provider: str) -> Requirement:
    """As a login reads it."""
    with team_scope(tenant.context):
        return requirement_of(tenant.context, provider_find(provider))


def test_what_the_management_address_sets_is_what_logins_read(
    team: Tenant, other_team: Tenant, management_api: ApiClient
) -> None:
    body = {"provider": "oura", "required": ["heartrate"], "optional": ["workout", "tag"]}
    assert management_api.post(f"{team_path(team)}/scope_requirements", body).status_code == 200
    found = requirement(team, "oura")
    assert found == Requirement(("heartrate",), ("workout", "tag"))
    assert found.asked(provider_find("oura")) == (*provider_find("oura").scopes, "tag")
    assert (requirement(team, "withings"), requirement(other_team, "oura")) == (Requirement(), Requirement())


def test_logins_without_scopes_require_none(team: Tenant) -> None:
    for provider in ("garmin", "freestyle_libre"):
        with team_scope(team.context):
            # From before the management address refused them, or the catalogue changed.
            ScopeRequirement.objects.create(
                **team_values(team.context), provider=provider, required_scopes=["anything"], optional_scopes=[]
            )
        assert requirement(team, provider) == Requirement()
        required(team, provider)
        with team_scope(team.context):
            assert ScopeRequirement.objects.count() == 0


def test_what_is_required_can_not_be_left_out_on_our_page() -> None:
    oura = provider_find("oura")
    free, choices = choices_of(oura), choices_of(oura, ("heartrate",))
    needed = [choice for choice in choices if choice.needed]
    assert [set(choice.scopes) >= {"heartrate"} for choice in needed] == [True] * len(needed)
    assert (len(needed) > 0, all(choice.fixed for choice in needed)) == (True, True)
    assert (is_something(free, []), is_something(choices, [])) == (False, True)
    assert "heartrate" in scopes_left_out(free, [])
    assert not {"heartrate"} & set(scopes_left_out(choices, []))


def test_where_all_is_required_there_is_nothing_to_choose() -> None:
    oura = provider_find("oura")
    assert choices_of(oura, oura.scopes) == ()


def test_what_only_the_team_asks_for_is_told_under_the_provider_s_own_name() -> None:
    choices = choices_of(provider_find("oura"), ("daily", "email"), ("tag", "heartrate"))
    email, tag = choices[-2:]
    assert [(one.on_top and one.on_top.title, one.scopes) for one in (email, tag)] == [
        ("email", ("email",)),
        ("tag", ("tag",)),
    ]
    assert (email.needed, email.fixed, tag.needed, tag.fixed) == (True, True, False, False)
    assert "tag" in scopes_left_out(choices, [])
    assert "tag" not in scopes_left_out(choices, [tag.name])
    assert "email" not in scopes_left_out(choices, [])
    # An optional scope of the team's is no resource.
    oura = choices_of(provider_find("oura"), (), ("tag",))
    assert (is_something(oura, ["scope tag"]), is_something(oura, ["workouts"])) == (False, True)


def test_where_nothing_can_be_left_out_what_the_team_needs_is_told_all_the_same() -> None:
    oura = provider_find("oura")
    every = choices_of(oura, (*oura.scopes, "email"))
    assert [one.fixed for one in every] == [True] * len(every)
    assert [one.needed for one in every if one.on_top] == [True]
    assert (is_something(every, []), scopes_left_out(every, [])) == (True, [])


def test_the_consent_page_shows_every_scope_that_is_asked_for(team: Tenant) -> None:
    required(team, "oura", "daily", "email", optional=("<b>tag",))
    client = browser()
    page = opened(client, token_make(team, user_make(team)))
    items = client.get(f"{page}/provider/oura").content.decode().split("<li>")
    email, tag = (
        [item for item in items if f'<span class="resource-title">{scope}</span>' in item]
        for scope in ("email", "&lt;b&gt;tag")
    )
    assert [("Our team needs this" in item, "<input" in item) for item in email + tag] == [(True, False), (False, True)]
    assert ['value="scope &lt;b&gt;tag" checked' in item for item in tag] == [True]
    assert sum("Our team needs this" in item for item in items) == 2


@pytest.mark.slow
def test_the_consent_page_says_what_is_needed_and_asks_for_it(team: Tenant, simulator: Simulator) -> None:
    required(team, "oura", "heartrate", optional=("tag",))
    client = browser()
    page = opened(client, token_make(team, user_make(team)))
    consent = f"{page}/provider/oura"
    shown = client.get(consent).content.decode()
    assert shown.count("Our team needs this") == 1
    client.post(consent, {"keep": ["scope tag"]})
    scopes = query_of(departed(client, page, "oura"))["scope"].split()
    assert "heartrate" in scopes
    assert "tag" in scopes
    assert "workout" not in scopes
    client.post(consent, {"keep": []})
    assert "tag" not in query_of(departed(client, page, "oura"))["scope"].split()


def _returned(team: Tenant, user: User, refused: list[str], *, redirects: bool = False) -> tuple[Client, str, int]:
    """A whole login in which the person refuses so much; the browser, where it ends, and its status."""
    values = {"redirect_url": "https://app.example/done"} if redirects else {}
    client = browser()
    back = Person(account="ada@example.com").decide(
        departed(client, opened(client, token_make(team, user, **values)), "oura"), refuse=refused
    )
    answer = client.get(path_of(back))
    return client, answer.headers.get("Location", ""), answer.status_code


@pytest.mark.slow
def test_a_link_without_a_required_scope_fails_as_the_interface_names_it(team: Tenant, simulator: Simulator) -> None:
    user = user_make(team)
    required(team, "oura", "heartrate")
    _client, location, status = _returned(team, user, ["heartrate"], redirects=True)
    assert status == 307
    assert {name: query_of(location)[name] for name in ("state", "error_type")} == {
        "state": "error",
        "error_type": "required_scopes_not_granted",
    }
    with team_scope(team.context):
        assert Connection.objects.count() == 0
        assert LinkSession.objects.get().error_type == "required_scopes_not_granted"
        # What the person did grant is given back.
        assert Revocation.objects.count() == 1
    assert ApiClient(team_key=team.key).get(f"/v2/user/providers/{user.id}").json() == {"providers": []}


@pytest.mark.slow
def test_what_is_required_and_granted_connects_whatever_else_is_refused(team: Tenant, simulator: Simulator) -> None:
    user = user_make(team)
    required(team, "oura", "heartrate", optional=("workout",))
    _returned(team, user, ["workout"])
    with team_scope(team.context):
        found = Connection.objects.get()
    assert "heartrate" in found.scopes_granted
    assert "workout" in found.scopes_denied


@pytest.mark.parametrize(("scopes", "failed"), [(SCOPES, 0), (("personal", "daily"), 1)])
def test_an_import_is_held_to_it_too(team: Tenant, scopes: tuple[str, ...], failed: int) -> None:
    user = user_make(team)
    required(team, "oura", "heartrate")
    recipe = bulk.Recipe(user.id, "access", "refresh", "ring-1", tokens_make().expires_at, scopes)
    with team_scope(team.context):
        op = bulk.bulk_import_begin(team=team.context, provider=provider_find("oura"), recipes=[recipe])
    bulk.bulk_op_run(op_id=op.pk)
    with team_scope(team.context):
        op.refresh_from_db()
        assert (op.processed, op.failed, Connection.objects.count()) == (1, failed, 1 - failed)
        codes = list(op.items.values_list("error_code", flat=True))
    assert codes == ["required_scopes_not_granted" if failed else ""]
