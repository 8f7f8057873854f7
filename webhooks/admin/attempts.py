"""Staff view of attempts: every request to every endpoint, found in bounded time whatever is asked for."""

import re
from datetime import datetime
from typing import Any, Final, cast
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from healthsvc.kernel.ids import uuid_instant
from healthsvc.kernel.rows import TeamQuerySet
from users.closed import of_no_deleted_user
from webhooks.addresses import url_host
from webhooks.admin.lists import (
    LIST_ROWS,
    BeforeFilter,
    EndpointFilter,
    EventTypeFilter,
    InputFilter,
    LogAdmin,
    TeamFilter,
    TimeFilter,
    searched_by_id,
)
from webhooks.admin.showing import address_shown, id_short, moment_short, team_shown, type_shown
from webhooks.log_selectors import AttemptOutcome
from webhooks.log_selectors.attempts import FAILED, SUCCEEDED
from webhooks.log_selectors.paging import id_page
from webhooks.models import Attempt, Endpoint

#: Of a team, the newest, deleted ones among them; its attempts are looked for at each.
_ENDPOINTS_MAXIMUM: Final = 200
_CODE: Final = re.compile(r"[1-9][0-9]{2}")


class OutcomeFilter(admin.SimpleListFilter):
    """Attempts that were taken, or failed."""

    title = "outcome"
    parameter_name = "outcome"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> list[tuple[str, str]]:
        """The outcomes."""
        return [(outcome.value, outcome.value) for outcome in AttemptOutcome]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Those that ended so."""
        return queryset.filter(self.condition)

    @property
    def condition(self) -> Q:
        """Ended so; a word that is none is refused."""
        known = {None: Q(), AttemptOutcome.SUCCEEDED.value: SUCCEEDED, AttemptOutcome.FAILED.value: FAILED}
        if self.value() not in known:
            raise IncorrectLookupParameters
        return known[self.value()]


class StatusCodeFilter(InputFilter):
    """Attempts that were answered with one status."""

    title = "status code"
    parameter_name = "status_code"
    hint = "503"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Those with this status."""
        return queryset.filter(self.condition)

    @property
    def condition(self) -> Q:
        """This status; a malformed one is refused."""
        if self.text and not _CODE.fullmatch(self.text):
            raise IncorrectLookupParameters
        return Q(status_code=int(self.text)) if self.text else Q()


class AttemptList(ChangeList):
    """The attempts that filters find, at most so many. What no index finds is looked for in the newest rows only.

    `looked_until` says how far back that was; None where it was to the end.
    """

    looked_until: datetime | None = None

    def get_queryset(self, request: HttpRequest, exclude_parameters: list[str | None] | None = None) -> QuerySet[Any]:
        """The rows that the filters find; of a search, which an index serves, all of them."""
        found = super().get_queryset(request, exclude_parameters)
        if self.query:
            return found
        branches, also = self._asked(request)
        page = id_page(branches, also=also, cursor=None, limit=LIST_ROWS)
        self.looked_until = None if page.next_cursor is None else uuid_instant(page.next_cursor)
        return self.root_queryset.filter(pk__in=page.ids).order_by("-pk")

    @property
    def further_back(self) -> str:
        """The same list, from where this one ends."""
        end = "" if self.looked_until is None else self.looked_until.isoformat()
        return self.get_query_string({"before": end, "within": "all"}, ["p"])

    def _asked(self, request: HttpRequest) -> tuple[list[TeamQuerySet[Attempt]], Q | None]:
        """What indexes find, and what is left to look at."""
        rows = Attempt.objects.all()
        also, endpoint, team, outcome = Q(), "", None, Q()
        for spec in self.filter_specs:
            if isinstance(spec, (TimeFilter, BeforeFilter, EndpointFilter)):
                rows = cast("TeamQuerySet[Attempt]", spec.queryset(request, rows))
                endpoint = spec.text if isinstance(spec, EndpointFilter) else endpoint
            elif isinstance(spec, TeamFilter):
                team = spec.id_typed if spec.text else None
            elif isinstance(spec, OutcomeFilter):
                outcome = spec.condition
            elif isinstance(spec, (EventTypeFilter, StatusCodeFilter)):
                also &= spec.condition
        if endpoint and team:
            also &= Q(team_id=team)
        if not endpoint and not team:
            return [rows], also & outcome or None
        if outcome == FAILED:
            rows = rows.filter(FAILED)
        else:
            also &= outcome
        branches = [rows] if endpoint or team is None else [rows.filter(endpoint_id=one) for one in _endpoints_of(team)]
        return branches, also or None


@admin.register(Attempt)
class AttemptAdmin(LogAdmin):
    """Requests to endpoints and what came of them."""

    change_list_template = "admin/webhooks/attempts.html"
    list_display = [
        "came", "event_name", "address", "number", "began", "duration_milliseconds", "whose", "id_end",
    ]  # fmt: skip
    list_filter = [
        TimeFilter, BeforeFilter, OutcomeFilter, StatusCodeFilter, EventTypeFilter, EndpointFilter, TeamFilter,
    ]  # fmt: skip
    search_fields = ["=id", "=delivery__id", "=delivery__event__id"]
    search_help_text = "The id of an attempt, a delivery or a message."
    fields = [
        "came", "event_type", "endpoint", "delivery", "number", "attempted_at", "duration_milliseconds", "answer",
        "team", "environment", "id",
    ]  # fmt: skip
    readonly_fields = ["came", "answer"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Attempt]:
        """With what a row shows; answers and secrets stay sealed until one is opened. Nothing about deleted people."""
        shown = Attempt.objects.filter(of_no_deleted_user("delivery__event__user_id"))
        rows = shown.select_related("endpoint", "team", "delivery")
        return rows.defer("answer_excerpt", "endpoint__secret", "endpoint__secrets_before", "endpoint__headers")

    def get_changelist(self, request: HttpRequest, **parts: Any) -> type[ChangeList]:
        """The list that reads a bounded number of rows."""
        return AttemptList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Attempt], search_term: str
    ) -> tuple[QuerySet[Attempt], bool]:
        """By an id, each kind in turn."""
        if not search_term.strip():
            return queryset, False
        return searched_by_id(queryset, search_term, "pk", "delivery_id", "delivery__event_id"), False

    def words(self, row: Attempt) -> str:
        """Which request it was."""
        return f"Attempt {row.number} of {row.event_type} at {url_host(row.endpoint.url)}"

    @admin.display(description="outcome")
    def came(self, attempt: Attempt) -> str:
        """Its outcome, and the status or why there was none."""
        if attempt.status_code is None:
            return f"failed: {attempt.error.replace('_', ' ')}"
        succeeded = 200 <= attempt.status_code <= 299
        return f"{'succeeded' if succeeded else 'failed'}: {attempt.status_code}"

    @admin.display(description="event type")
    def event_name(self, attempt: Attempt) -> SafeString:
        """What happened."""
        return type_shown(attempt.event_type)

    @admin.display(description="endpoint")
    def address(self, attempt: Attempt) -> SafeString:
        """Where it went."""
        return address_shown(attempt.endpoint.url)

    @admin.display(description="began (UTC)")
    def began(self, attempt: Attempt) -> SafeString | str:
        """When."""
        return moment_short(attempt.attempted_at)

    @admin.display(description="beginning of the answer")
    def answer(self, attempt: Attempt) -> str:
        """Scrubbed, and of failures only."""
        return attempt.answer_excerpt or ""

    @admin.display(description="team")
    def whose(self, attempt: Attempt) -> str:
        """With the environment."""
        return team_shown(attempt)

    @admin.display(description="id")
    def id_end(self, attempt: Attempt) -> SafeString:
        """Its end."""
        return id_short(attempt.pk)


def _endpoints_of(team_id: UUID) -> list[UUID]:
    newest = Endpoint.objects.filter(team_id=team_id).order_by("-pk")
    return list(newest.values_list("pk", flat=True)[:_ENDPOINTS_MAXIMUM])
