"""Forms of the staff's pages for endpoints."""

from collections.abc import Collection, Sequence
from typing import Any, ClassVar
from urllib.parse import urlsplit

from django import forms
from django.db import transaction
from django.forms import ModelForm

from healthsvc.kernel.errors import ServiceError
from healthsvc.kernel.scope import team_scope
from webhooks import services
from webhooks.addresses import url_without_query
from webhooks.admin.traces import context_of, refusal_show
from webhooks.constants import RATE_LIMIT_MAXIMUM
from webhooks.models import Endpoint
from webhooks.registry import event_types


class LinesField(forms.CharField):
    """Words, one a line; none is None."""

    widget = forms.Textarea(attrs={"rows": 6, "cols": 60})

    def prepare_value(self, value: Any) -> Any:
        """A list as lines; what was typed, as it was typed."""
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        """The words."""
        text = super().to_python(value) or ""
        return [line.strip() for line in text.splitlines() if line.strip()] or None

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether the words differ; blanks and blank lines are none."""
        return bool((initial or None) != self.to_python(data))


class EndpointForm(ModelForm[Endpoint]):
    """What staff may change of an endpoint. Every rule is the service's, asked before anything is written.

    The address is shown without its query; left as it is shown, it stays as it was.
    """

    filter_types = LinesField(required=False, help_text="Event types or first words of some, one a line; none: all.")
    channels = LinesField(required=False, help_text="Only events of one of these channels, one a line; none: all.")
    rate_limit = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=RATE_LIMIT_MAXIMUM,
        help_text="Messages a second at most; empty: no limit.",
    )

    class Meta:
        model = Endpoint
        fields: ClassVar[Sequence[str]] = (
            "url", "description", "filter_types", "channels", "rate_limit", "disabled",
        )  # fmt: skip
        widgets: ClassVar[dict[str, forms.Widget]] = {
            "url": forms.TextInput(attrs={"size": 80}),
            "description": forms.TextInput(attrs={"size": 80}),
        }

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # Staff who may only look are shown no fields.
        if "url" in self.fields and urlsplit(self.instance.url).query:
            self.initial["url"] = url_without_query(self.instance.url)
            self.fields["url"].help_text = "It has a query, which is not shown. What is typed here replaces all of it."

    def clean(self) -> dict[str, Any]:
        """Try the change and take it back: what the service would refuse is an error at its field."""
        found: dict[str, Any] = super().clean() or self.cleaned_data
        # Switching it on or off is never refused, and off is dear: what is owed is cancelled.
        changes = self._changes() - {"disabled"}
        if self.errors or not changes:
            return found
        try:
            with transaction.atomic():
                self._write(changes)
                transaction.set_rollback(True)
        except ServiceError as error:
            refusal_show(self, error)
        return found

    def change_write(self) -> None:
        """Change the endpoint through the service, as the team would."""
        self._write(self._changes())

    def _changes(self) -> set[str]:
        return set(self.changed_data) & set(self.cleaned_data)

    def _write(self, names: Collection[str]) -> None:
        changes = {name: self.cleaned_data[name] for name in names}
        team = context_of(self.instance)
        with team_scope(team):
            services.endpoint_patch(team=team, endpoint_id=self.instance.pk, changes=changes)


def _event_types() -> list[tuple[str, str]]:
    return [(name, name) for name in event_types()]


class EventNowForm(forms.Form):
    """Which event's sample is sent."""

    event_type = forms.ChoiceField(choices=_event_types, initial="webhook.test", label="Event type")


class RotateForm(forms.Form):
    """Nothing to fill in: the new secret is made, and shown to the team alone."""


def _moment(label: str, *, required: bool) -> forms.DateTimeField:
    widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")
    return forms.DateTimeField(label=label, required=required, widget=widget)


class RecoverForm(forms.Form):
    """From when on what has failed is sent again."""

    since = _moment("Since (UTC)", required=True)
    until = _moment("Until (UTC), empty for now", required=False)
    include_cancelled = forms.BooleanField(required=False, label="Also what was cancelled while it was disabled")


class ReplayForm(forms.Form):
    """From when on what it was never sent is sent."""

    since = _moment("Since (UTC)", required=True)
    until = _moment("Until (UTC), empty for now", required=False)
    event_types = LinesField(required=False, label="Only these event types, one a line; empty for all it wants")
