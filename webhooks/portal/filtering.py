"""Filters and pages of the logs: read strictly, and kept in the address, which can be kept and passed on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator

from healthsvc.kernel import clock
from healthsvc.kernel.ids import uuid_parse
from webhooks.constants import (
    CHANNEL_MAXIMUM_CHARACTERS,
    CHANNEL_PATTERN,
    EVENT_TYPE_MAXIMUM_CHARACTERS,
    FILTER_TYPE_PATTERN,
)
from webhooks.log_selectors import AttemptFilters, AttemptOutcome, MessageFilters, MessageOutcome

#: Lines of a page.
PAGE_ROWS: Final = 50
#: Pages that the way back to newer ones remembers.
_TRAIL_PAGES: Final = 20
_TRAIL_MAXIMUM_CHARACTERS: Final = 1000

_RANGES: Final[Mapping[str, tuple[str, timedelta]]] = MappingProxyType(
    {
        "1h": ("Last hour", timedelta(hours=1)),
        "24h": ("Last 24 hours", timedelta(hours=24)),
        "7d": ("Last 7 days", timedelta(days=7)),
    }
)
_TYPE: Final = RegexValidator(
    rf"\A(?:{FILTER_TYPE_PATTERN.pattern})\Z", "Must be an event type or its first words, as daily.data."
)
#: Bounds that an id's time can hold, with room beside them.
_EARLIEST: Final = MinValueValidator(datetime(2000, 1, 1, tzinfo=UTC), "Must not be before the year 2000.")
_LATEST: Final = MaxValueValidator(datetime(3000, 1, 1, tzinfo=UTC), "Must be before the year 3000.")
_CHANNEL: Final = RegexValidator(rf"\A(?:{CHANNEL_PATTERN.pattern})\Z", "Must be a channel, as provider.oura.")


@dataclass(frozen=True, slots=True)
class Chip:
    """A quick range: a link to the same page with it."""

    words: str
    url: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Turning:
    """Where newer and older lines are; None where there are none."""

    newest_url: str | None = None
    newer_url: str | None = None
    older_url: str | None = None


class LogForm(forms.Form):
    """What every log is filtered by, and where in it the page is."""

    event_type = forms.CharField(
        label="Event type",
        help_text="A whole one, or the first words of some: daily.data",
        required=False,
        max_length=EVENT_TYPE_MAXIMUM_CHARACTERS,
        validators=[_TYPE],
        widget=forms.TextInput(attrs={"list": "event-types", "autocapitalize": "none", "spellcheck": "false"}),
    )
    after = forms.DateTimeField(
        label="From (UTC)",
        required=False,
        validators=[_EARLIEST, _LATEST],
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}),
    )
    before = forms.DateTimeField(
        label="To (UTC)",
        required=False,
        validators=[_EARLIEST, _LATEST],
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}),
    )
    last = forms.ChoiceField(
        choices=[("", ""), *((name, words) for name, (words, _) in _RANGES.items())], required=False
    )
    cursor = forms.UUIDField(required=False)
    trail = forms.CharField(required=False, max_length=_TRAIL_MAXIMUM_CHARACTERS)

    #: The fields that a person fills in, in their order.
    shown: Sequence[str] = ("event_type", "after", "before")

    def fields_shown(self) -> list[forms.BoundField]:
        """The fields that a person fills in."""
        return [self[name] for name in self.shown]

    def clean(self) -> dict[str, object] | None:
        """An end before its beginning finds nothing, and is a mistake."""
        cleaned = super().clean()
        after, before = self.cleaned_data.get("after"), self.cleaned_data.get("before")
        if after and before and after >= before:
            self.add_error("before", "Must be later than the beginning.")
        return cleaned

    @property
    def kept(self) -> dict[str, str]:
        """The filters as they stand in the address, without the place in the log."""
        names = [*self.shown, *([] if self._has_bounds else ["last"])]
        return {name: value for name in names if (value := self.data.get(name, "").strip())}

    @property
    def last_name(self) -> str:
        """The quick range in force; '' for none. Bounds that were typed come before it."""
        return "" if self._has_bounds else self.cleaned_data.get("last", "")

    def bounds(self) -> tuple[datetime | None, datetime | None]:
        """From when to when. Of a valid form."""
        if self.last_name:
            return clock.now() - _RANGES[self.last_name][1], None
        return self.cleaned_data["after"], self.cleaned_data["before"]

    def text(self, name: str) -> str | None:
        """A filter's value; None where it is not set."""
        return self.cleaned_data[name] or None

    @property
    def _has_bounds(self) -> bool:
        return any(self.data.get(name, "").strip() for name in ("after", "before"))


class MessageForm(LogForm):
    """What the log of messages is filtered by."""

    user_id = forms.UUIDField(
        label="User id",
        required=False,
        error_messages={"invalid": "Must be a user's id, a UUID."},
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false", "autocomplete": "off"}),
    )
    channel = forms.CharField(
        label="Channel",
        help_text="As provider.oura",
        required=False,
        max_length=CHANNEL_MAXIMUM_CHARACTERS,
        validators=[_CHANNEL],
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false"}),
    )
    outcome = forms.ChoiceField(
        label="What became of it",
        choices=[
            ("", "Anything"),
            (MessageOutcome.DELIVERED.value, "Delivered to all"),
            (MessageOutcome.WAITING.value, "Waiting somewhere"),
            (MessageOutcome.FAILED.value, "Failed somewhere"),
            (MessageOutcome.CANCELLED.value, "Cancelled somewhere"),
            (MessageOutcome.NONE.value, "Sent to no endpoint"),
        ],
        required=False,
    )
    message_id = forms.CharField(
        label="Message id",
        help_text="The webhook-id that arrived",
        required=False,
        max_length=60,
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false", "autocomplete": "off"}),
    )
    shown = ("event_type", "outcome", "user_id", "channel", "after", "before", "message_id")

    def clean_message_id(self) -> UUID | None:
        """With `msg_` before it or without."""
        typed: str = self.cleaned_data["message_id"]
        if not typed:
            return None
        found = uuid_parse(typed.removeprefix("msg_"))
        if found is None:
            raise forms.ValidationError("Must be the id of a message: msg_ and a UUID.")
        return found

    def filters(self) -> MessageFilters:
        """What to look for. Of a valid form."""
        after, before = self.bounds()
        outcome = self.text("outcome")
        return MessageFilters(
            event_type=self.text("event_type"),
            user_id=self.cleaned_data["user_id"],
            channel=self.text("channel"),
            outcome=MessageOutcome(outcome) if outcome else None,
            after=after,
            before=before,
        )


class AttemptForm(LogForm):
    """What the log of attempts is filtered by."""

    outcome = forms.ChoiceField(
        label="Outcome",
        choices=[("", "Any"), (AttemptOutcome.SUCCEEDED.value, "Succeeded"), (AttemptOutcome.FAILED.value, "Failed")],
        required=False,
    )
    status_code = forms.IntegerField(
        label="Status code",
        required=False,
        min_value=100,
        max_value=999,
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
    )
    shown = ("outcome", "status_code", "event_type", "after", "before")

    def filters(self) -> AttemptFilters:
        """What to look for. Of a valid form."""
        after, before = self.bounds()
        outcome = self.text("outcome")
        return AttemptFilters(
            outcome=AttemptOutcome(outcome) if outcome else None,
            status_code=self.cleaned_data["status_code"],
            event_type=self.text("event_type"),
            after=after,
            before=before,
        )


@dataclass(frozen=True, slots=True)
class LogAddress:
    """The page's own address, with the filters that are set."""

    path: str
    kept: Mapping[str, str] = field(default_factory=dict)

    def at(self, **changes: str) -> str:
        """With other parameters; an empty one is left out."""
        parameters = {name: value for name, value in {**self.kept, **changes}.items() if value}
        return f"{self.path}?{urlencode(parameters)}" if parameters else self.path


def chips(address: LogAddress, form: LogForm) -> list[Chip]:
    """The quick ranges; each replaces bounds that were typed."""
    unbound = {"after": "", "before": ""}
    any_time = not form.last_name and not {"after", "before"} & set(form.kept)
    return [
        Chip("Any time", address.at(**unbound, last=""), any_time),
        *(
            Chip(words, address.at(**unbound, last=name), form.last_name == name)
            for name, (words, _) in _RANGES.items()
        ),
    ]


def turning(address: LogAddress, form: LogForm, next_cursor: UUID | None) -> Turning:
    """The ways on. The addresses of the pages before are remembered, so that the way back is the way here."""
    cursor: UUID | None = form.cleaned_data["cursor"]
    trail = [text for text in form.cleaned_data["trail"].split(".") if uuid_parse(text)]
    older = None
    if next_cursor is not None:
        gone = [*trail, cursor.hex][-_TRAIL_PAGES:] if cursor else []
        older = address.at(cursor=next_cursor.hex, trail=".".join(gone))
    if cursor is None:
        return Turning(older_url=older)
    newer = address.at(cursor=trail[-1], trail=".".join(trail[:-1])) if trail else address.at()
    return Turning(address.at(), newer, older)
