"""Sending again: one message, all that failed, or what an endpoint was never sent; and how far a repair is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from django import forms
from django.conf import settings
from django.http import HttpResponse

from healthsvc.kernel import clock
from healthsvc.kernel.errors import ErrorCode, ServiceError
from management.constants import JobStatus
from management.models import BackgroundJob
from webhooks import selectors, services
from webhooks.constants import RECOVER_JOB, REPLAY_JOB, WAITING_COUNT_MAXIMUM
from webhooks.models import Endpoint
from webhooks.portal.frame import PortalVisit, go, page, portal_page, refusal_words
from webhooks.portal.wording import REPAIR_TITLES, count_text
from webhooks.registry import event_types
from webhooks.services.repairs import RepairShown

#: A running repair's page asks for itself again after this.
_REFRESH_SECONDS: Final = 3
_SPANS: Final = {"1h": timedelta(hours=1), "24h": timedelta(hours=24), "7d": timedelta(days=7)}
_ALL: Final = "all"
_MOMENT: Final = "moment"
_ENDINGS: Final = {
    "endpoint_disabled": "It stopped because the endpoint was disabled. Enable it, then begin again.",
    "endpoint_gone": "It stopped because the endpoint was deleted.",
    "given_up": "It could not be finished. Begin again; nothing is sent twice under another id.",
}


class RepairForm(forms.Form):
    """The time a repair covers."""

    span = forms.ChoiceField(label="Since when", widget=forms.RadioSelect, initial="24h")
    since = forms.DateTimeField(
        label="That moment (UTC)",
        required=False,
        widget=forms.DateTimeInput(format="%Y-%m-%dT%H:%M:%S", attrs={"type": "datetime-local", "step": "1"}),
    )

    def __init__(self, *arguments: object, **named: object) -> None:
        super().__init__(*arguments, **named)  # type: ignore[arg-type]  # as Django takes them
        self.fields["span"].choices = [  # type: ignore[attr-defined]  # a choice field
            ("1h", "The last hour"),
            ("24h", "The last 24 hours"),
            ("7d", "The last 7 days"),
            (_ALL, f"All that is kept: {settings.WEBHOOK_RETENTION_DAYS} days"),
            (_MOMENT, "Since a moment"),
        ]

    def clean(self) -> dict[str, object] | None:
        """A moment that was chosen must be given; one that was given counts, whatever is chosen."""
        cleaned = super().clean()
        if (
            self.cleaned_data.get("span") == _MOMENT
            and not self.cleaned_data.get("since")
            and "since" not in self.errors
        ):
            self.add_error("since", "Say since when.")
        return cleaned

    def beginning(self) -> datetime:
        """Since when. Of a valid form."""
        given: datetime | None = self.cleaned_data["since"]
        if given is not None:
            return given
        span = self.cleaned_data["span"]
        return clock.now() - _SPANS.get(span, timedelta(days=settings.WEBHOOK_RETENTION_DAYS))


class RecoverForm(RepairForm):
    """What is to be recovered."""

    include_cancelled = forms.BooleanField(
        label="Also those that were cancelled, as while the endpoint was disabled", required=False
    )


class ReplayForm(RepairForm):
    """What is to be replayed."""

    event_types = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, *arguments: object, **named: object) -> None:
        super().__init__(*arguments, **named)
        self.fields["event_types"].choices = [  # type: ignore[attr-defined]  # a choice field
            (name, name) for name in event_types()
        ]


@dataclass(frozen=True, slots=True)
class RepairLine:
    """A repair in words. `percent` is how much of its time is covered."""

    repair: RepairShown
    title: str
    result: str
    percent: int


@portal_page("POST")
def resend(visit: PortalVisit, endpoint_id: UUID, message_id: UUID) -> HttpResponse:
    """Send one message to one endpoint again, now."""
    user_id = services.delivery_resend(team=visit.team, endpoint_id=endpoint_id, message_id=message_id)
    if user_id is not None:
        visit.ids["user_id"] = str(user_id)
    return go("portal_message", told="resent", message_id=message_id)


@portal_page("GET", "POST")
def recover(visit: PortalVisit, endpoint_id: UUID) -> HttpResponse:
    """Send again what failed."""
    form = RecoverForm(visit.request.POST if visit.is_form else None, initial=_initial(visit))

    def begin() -> BackgroundJob:
        return services.recover_begin(
            team=visit.team,
            endpoint_id=endpoint_id,
            since=form.beginning(),
            include_cancelled=form.cleaned_data["include_cancelled"],
        )

    return _repair_form(visit, endpoint_id, form, begin, RECOVER_JOB)


@portal_page("GET", "POST")
def replay(visit: PortalVisit, endpoint_id: UUID) -> HttpResponse:
    """Send what the endpoint wants and was never sent."""
    form = ReplayForm(visit.request.POST if visit.is_form else None, initial=_initial(visit))

    def begin() -> BackgroundJob:
        return services.replay_begin(
            team=visit.team,
            endpoint_id=endpoint_id,
            since=form.beginning(),
            event_types=form.cleaned_data["event_types"] or None,
        )

    return _repair_form(visit, endpoint_id, form, begin, REPLAY_JOB)


@portal_page("GET")
def repair(visit: PortalVisit, job_id: UUID) -> HttpResponse:
    """How far a repair is; the page asks for itself again while it runs."""
    shown = services.repair_get(visit.team, job_id)
    context = {
        "line": repair_line(shown),
        "endpoint": _endpoint_find(visit, shown.endpoint_id),
        "refresh_seconds": _REFRESH_SECONDS if shown.is_running else None,
        "is_recovery": shown.kind == RECOVER_JOB,
    }
    response = page(visit, "webhooks/repair.html", context)
    if shown.is_running:
        # As a header: a page that is read aloud is not to carry a refresh in itself.
        response["Refresh"] = str(_REFRESH_SECONDS)
    return response


def repair_line(shown: RepairShown) -> RepairLine:
    """How a repair reads."""
    messages = "1 message" if shown.owed == 1 else f"{count_text(shown.owed)} messages"
    title = REPAIR_TITLES[shown.kind]
    if shown.status is JobStatus.FAILED:
        words = _ENDINGS.get(shown.error_code, _ENDINGS["given_up"])
        return RepairLine(shown, title, f"{words} Up to then {messages} were owed again.", _percent(shown))
    if shown.is_running:
        return RepairLine(shown, title, f"{messages.capitalize()} so far.", _percent(shown))
    if shown.owed:
        words = f"{messages.capitalize()} {'is' if shown.owed == 1 else 'are'} on the way to the endpoint."
    elif shown.kind == RECOVER_JOB:
        words = f"Nothing had failed in this time; there was nothing to recover.{_waiting_words(shown.waiting or 0)}"
    else:
        words = "The endpoint has been sent everything it wants of this time; there was nothing to replay."
    return RepairLine(shown, title, words, 100)


def repair_lines(visit: PortalVisit, endpoint_id: UUID) -> Sequence[RepairLine]:
    """The last repairs of an endpoint, newest first."""
    return [repair_line(one) for one in services.repairs_recent(visit.team, endpoint_id)]


def _repair_form(
    visit: PortalVisit, endpoint_id: UUID, form: RepairForm, begin: Callable[[], BackgroundJob], kind: str
) -> HttpResponse:
    """The form, or the repair that was begun; one of the same kind that runs already is shown in its place."""
    endpoint = selectors.endpoint_get(visit.team, endpoint_id)
    if visit.is_form and form.is_valid():
        try:
            return go("portal_repair", job_id=begin().pk)
        except ServiceError as error:
            running = _running(visit, endpoint_id, kind) if error.code is ErrorCode.CONFLICT else None
            if running is not None:
                return go("portal_repair", told="repair_running", job_id=running.job_id)
            form.add_error(None, refusal_words(error))
    context = {
        "endpoint": endpoint,
        "form": form,
        "is_recovery": kind == RECOVER_JOB,
        "repairs": repair_lines(visit, endpoint_id),
    }
    return page(visit, "webhooks/repair_form.html", context, status=422 if form.errors else 200)


def _initial(visit: PortalVisit) -> dict[str, object]:
    """A moment that the address proposes; what is none is left out, for nothing is done with it yet."""
    try:
        proposed = datetime.fromisoformat(visit.request.GET.get("since", ""))
        since = proposed.astimezone(UTC) if proposed.tzinfo else proposed.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return {}
    return {"span": _MOMENT, "since": since}


def _running(visit: PortalVisit, endpoint_id: UUID, kind: str) -> RepairShown | None:
    recent = services.repairs_recent(visit.team, endpoint_id)
    return next((one for one in recent if one.kind == kind and one.is_running), None)


def _endpoint_find(visit: PortalVisit, endpoint_id: UUID) -> Endpoint | None:
    """The endpoint; None where it was deleted."""
    try:
        return selectors.endpoint_get(visit.team, endpoint_id)
    except ServiceError as error:
        if error.code is not ErrorCode.NOT_FOUND:
            raise
        return None


def _waiting_words(waiting: int) -> str:
    """How much waits without having failed; nothing where none does."""
    if not waiting:
        return ""
    if waiting == 1:
        return " 1 message waits for its attempt by itself."
    more = " or more" if waiting >= WAITING_COUNT_MAXIMUM else ""
    return f" {count_text(waiting)}{more} messages wait for their attempt by themselves."


def _percent(shown: RepairShown) -> int:
    return 100 * shown.done_seconds // max(1, shown.total_seconds)
