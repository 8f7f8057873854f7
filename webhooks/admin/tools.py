"""What staff can do with one endpoint besides changing it: send, rotate, recover, replay; and what they see there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django import forms
from django.http import HttpRequest

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ServiceError
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.scope import team_scope
from webhooks import services
from webhooks.admin.forms import EventNowForm, RecoverForm, ReplayForm, RotateForm
from webhooks.admin.traces import context_of, refusal_show
from webhooks.log_selectors import EndpointStatus, Interval, endpoint_status, tally_series
from webhooks.models import Endpoint, EndpointHealth
from webhooks.portal.charts import Spark, TableRow, spark, table_rows
from webhooks.portal.wording import REPAIR_TITLES
from webhooks.services import repairs
from webhooks.services.repairs import RepairShown

Act = Callable[[TeamContext, UUID, Mapping[str, Any]], str]


@dataclass(frozen=True, slots=True)
class Tool:
    """One thing to do: its form, and what does it and says so."""

    name: str
    title: str
    text: str
    form: type[forms.Form]
    act: Act


@dataclass(frozen=True, slots=True)
class ToolForm:
    """A tool as the page shows it."""

    tool: Tool
    form: forms.Form


@dataclass(frozen=True, slots=True)
class ToolsShown:
    """The page: forms, the last week by the hour, repairs with what each is called.

    `done` says what a POST did; `refused` that it did not.
    """

    forms: Sequence[ToolForm]
    picture: Spark
    rows: Sequence[TableRow]
    repairs: Sequence[tuple[str, RepairShown]]
    state: str
    done: str
    refused: bool


def tools_shown(request: HttpRequest, endpoint: Endpoint, state: str) -> ToolsShown:
    """Do what a POST asks for, and what there is to show."""
    team = context_of(endpoint)
    name = request.POST.get("tool", "")
    shown = [ToolForm(tool, tool.form(request.POST if tool.name == name else None)) for tool in TOOLS]
    with team_scope(team):
        done = next((_done(each, team, endpoint.pk) for each in shown if each.form.is_bound), "")
        points = tally_series(team, endpoint_id=endpoint.pk, interval=Interval.HOUR, until=clock.now())
        running = repairs.repairs_recent(team, endpoint.pk)
    span = timedelta(seconds=Interval.HOUR.span_seconds)
    return ToolsShown(
        forms=shown,
        picture=spark(points, span),
        rows=table_rows(points, span),
        repairs=[(REPAIR_TITLES[one.kind], one) for one in running],
        state=state,
        done=done,
        refused=request.method == "POST" and not done,
    )


def _done(each: ToolForm, team: TeamContext, endpoint_id: UUID) -> str:
    """What was done, in words; nothing where it was refused, which the form then tells."""
    if not each.form.is_valid():
        return ""
    try:
        return each.tool.act(team, endpoint_id, each.form.cleaned_data)
    except ServiceError as error:
        refusal_show(each.form, error)
        return ""


def state_words(endpoint: Endpoint, now: datetime) -> str:
    """How an endpoint stands, as its team is told, and what else is known against it, with the times."""
    if endpoint.deleted_at is not None:
        return "deleted"
    health = _health(endpoint)
    status = endpoint_status(endpoint, health, now)
    if status is EndpointStatus.DISABLED:
        return f"disabled ({endpoint.disabled_reason or 'by its owner'})"
    if health is None or status is EndpointStatus.ENABLED:
        return str(status)
    paused_until = health.paused_until if health.paused_until and health.paused_until > now else None
    words = {
        EndpointStatus.FAILING: f"since {_moment(health.failing_since)}" if health.failing_since else "",
        EndpointStatus.PAUSED: f"until {_moment(paused_until)}" if paused_until else "",
        EndpointStatus.STRUGGLING: f"since {_moment(health.struggling_since)}" if health.struggling_since else "",
    }
    others = [f"{one} {when}" for one, when in words.items() if when and one is not status]
    return ", ".join([f"{status} {words[status]}", *others])


def _health(endpoint: Endpoint) -> EndpointHealth | None:
    try:
        return endpoint.health
    except EndpointHealth.DoesNotExist:
        return None


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _event_now(team: TeamContext, endpoint_id: UUID, given: Mapping[str, Any]) -> str:
    event_id = repairs.event_send_now(team=team, endpoint_id=endpoint_id, event_type=given["event_type"])
    return f"{given['event_type']} is on its way as msg_{event_id}."


def _rotate(team: TeamContext, endpoint_id: UUID, given: Mapping[str, Any]) -> str:
    services.endpoint_secret_rotate(team=team, endpoint_id=endpoint_id, key=None)
    return "There is a new secret. For 24 hours the one before signs too."


def _recover(team: TeamContext, endpoint_id: UUID, given: Mapping[str, Any]) -> str:
    repairs.recover_begin(team=team, endpoint_id=endpoint_id, **given)
    return "The recovery has begun; its progress is below."


def _replay(team: TeamContext, endpoint_id: UUID, given: Mapping[str, Any]) -> str:
    repairs.replay_begin(team=team, endpoint_id=endpoint_id, **given)
    return "The replay has begun; its progress is below."


TOOLS: Final = (
    Tool("event_now", "Send an event now", "The sample of an event, to this endpoint alone.", EventNowForm, _event_now),
    Tool(
        "recover",
        "Recover",
        "Send again what has failed since a time, whether it was given up or waits for its next attempt.",
        RecoverForm,
        _recover,
    ),
    Tool("replay", "Replay what is missing", "Send what it wants and was never sent.", ReplayForm, _replay),
    Tool("rotate", "Rotate the secret", "A new secret, which only the team can see.", RotateForm, _rotate),
)
