"""Filters of the staff's view of the audit trail: each has an index, or looks at so many records and no more."""

from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from healthsvc.kernel.ids import uuid_floor
from healthsvc.kernel.principal import Environment
from management.models import AccessNamed
from management.staff_lists import ROWS_MAXIMUM, IdFilter, InputFilter, MomentFilter
from management.trail_serializers import ACTOR_KINDS

#: Records that are looked at where a filter has no index, of those that the other filters leave.
LOOKED_AT_MAXIMUM: Final = 50_000
#: An id may be made so long before or after its record's `occurred_at`.
_SLACK: Final = timedelta(minutes=1)
_CLASSES: Final = {"2": "2xx done", "3": "3xx", "4": "4xx refused", "5": "5xx failed"}
_NO_REQUEST: Final = "none"


def looked_at(records: QuerySet[Any]) -> Q:
    """The newest of these records, as a bound of their ids."""
    edge = records.order_by("-pk").values_list("pk", flat=True)[LOOKED_AT_MAXIMUM - 1 : LOOKED_AT_MAXIMUM].first()
    return Q() if edge is None else Q(pk__gte=edge)


def about_user(user_id: UUID) -> Q:
    """Records whose person this is, or that name them among others."""
    among = AccessNamed.objects.filter(user_id=user_id).order_by("-record_id")
    # Their ids, not a sub-query: with that no index would be taken for any of the others.
    return Q(user_id=user_id) | Q(pk__in=list(among.values_list("record_id", flat=True)[:ROWS_MAXIMUM]))


class FromFilter(MomentFilter):
    """Records of this moment and later: a bound of ids, which leaves out whole months."""

    title = "time, from (UTC)"
    parameter_name = "from"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Everything where nothing is typed."""
        if not self.text:
            return queryset
        return queryset.filter(pk__gte=uuid_floor(self.moment - _SLACK), occurred_at__gte=self.moment)


class ToFilter(MomentFilter):
    """Records before this moment."""

    title = "time, until before (UTC)"
    parameter_name = "to"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Everything where nothing is typed."""
        if not self.text:
            return queryset
        return queryset.filter(pk__lt=uuid_floor(self.moment + _SLACK), occurred_at__lt=self.moment)


class WhoseFilter(IdFilter):
    """What was done to one person's data."""

    title = "user id"
    parameter_name = "user_id"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Everything where nothing is typed."""
        return queryset.filter(about_user(self.id_typed)) if self.text else queryset


class ActorFilter(InputFilter):
    """What one actor did: a key, a session, a login, a piece of work."""

    title = "actor id"
    parameter_name = "actor_id"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Everything where nothing is typed."""
        return queryset.filter(actor_id=self.text) if self.text else queryset


class ActorKindFilter(admin.SimpleListFilter):
    """By who it was: the kinds there are, without looking for them in the table."""

    title = "actor"
    parameter_name = "actor_kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Every kind."""
        return [(kind, kind) for kind in ACTOR_KINDS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Of this kind."""
        kind = self.value()
        return queryset.filter(looked_at(queryset), actor_kind=kind) if kind in ACTOR_KINDS else queryset


class StatusFilter(admin.SimpleListFilter):
    """By how it was answered."""

    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The classes of codes, and what was no request."""
        return [*_CLASSES.items(), (_NO_REQUEST, "no request")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Of this class."""
        chosen = self.value()
        if chosen == _NO_REQUEST:
            return queryset.filter(looked_at(queryset), status_code=None)
        if chosen not in _CLASSES:
            return queryset
        first = int(chosen) * 100
        return queryset.filter(looked_at(queryset), status_code__gte=first, status_code__lt=first + 100)


class EnvironmentFilter(admin.SimpleListFilter):
    """By environment."""

    title = "environment"
    parameter_name = "environment"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Both."""
        return [(environment, environment) for environment in Environment]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Of this one."""
        chosen = self.value()
        return queryset.filter(looked_at(queryset), environment=chosen) if chosen in list(Environment) else queryset
