"""Staff views of users."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from management.staff_admin import PersonalAdmin, ReadOnlyAdmin
from management.staff_lists import TeamFilter, id_short, moment_short
from users import erasure_admin as erasure_admin  # registers its views
from users.export_admin import ExportingUserAdmin
from users.models import Demographics, Insurance, Payor, User


class LivingFilter(admin.SimpleListFilter):
    """Users who are there, or on their way out."""

    title = "status"
    parameter_name = "living"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Both."""
        return [("yes", "living"), ("no", "deleted")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Of one kind, where one is chosen."""
        chosen = self.value()
        return queryset.filter(deleted_at__isnull=chosen == "yes") if chosen in ("yes", "no") else queryset


@admin.register(User)
class UserAdmin(ExportingUserAdmin):
    """People, read only: what is theirs is changed through the API."""

    list_display = ["client_user_id", "state", "id_end", "team", "environment", "created"]
    list_filter = [LivingFilter, "environment", TeamFilter]
    list_select_related = ["team"]
    search_fields = ["=id", "=client_user_id", "=team__id"]
    exclude = ["fallback_birth_date"]
    user_id_attribute = "id"

    @admin.display(description="status")
    def state(self, user: User) -> SafeString | str:
        """Deleted since when, or living."""
        return "living" if user.deleted_at is None else format_html("deleted {}", moment_short(user.deleted_at))

    @admin.display(description="id", ordering="id")
    def id_end(self, user: User) -> SafeString:
        """The end of it."""
        return id_short(user.pk)

    @admin.display(description="created (UTC)", ordering="created_at")
    def created(self, user: User) -> str:
        """To the second."""
        return moment_short(user.created_at)


@admin.register(Demographics)
class DemographicsAdmin(PersonalAdmin):
    """Whose patient details are kept and since when; the details themselves are the customer's to read."""

    list_display = ["id", "user_id", "team", "environment", "updated_at"]
    list_filter = ["environment"]
    list_select_related = ["team"]
    search_fields = ["=user__id", "=team__id"]
    exclude = ["details"]


@admin.register(Insurance)
class InsuranceAdmin(PersonalAdmin):
    """Whose insurances are kept and since when; what they say is the customer's to read."""

    list_display = ["id", "user_id", "is_primary", "team", "environment", "created_at"]
    list_filter = ["environment", "is_primary"]
    list_select_related = ["team"]
    search_fields = ["=user__id", "=team__id"]
    exclude = ["details"]


@admin.register(Payor)
class PayorAdmin(ReadOnlyAdmin):
    """Payors that teams added."""

    list_display = ["code", "name", "team", "environment", "created_at"]
    list_filter = ["environment"]
    list_select_related = ["team"]
    search_fields = ["=code", "=team__id"]
