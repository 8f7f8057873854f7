"""Staff views of users."""

from django.contrib import admin

from management.staff_admin import PersonalAdmin, ReadOnlyAdmin
from users.export_admin import ExportingUserAdmin
from users.models import Demographics, Erasure, Insurance, Payor, User


@admin.register(User)
class UserAdmin(ExportingUserAdmin):
    """People, read only: what is theirs is changed through the API."""

    list_display = ["id", "client_user_id", "team", "environment", "created_at", "deleted_at"]
    list_filter = ["environment"]
    list_select_related = ["team"]
    search_fields = ["=id", "=client_user_id", "=team__id"]
    exclude = ["fallback_birth_date"]
    user_id_attribute = "id"


@admin.register(Demographics)
class DemographicsAdmin(PersonalAdmin):
    """Whose patient details are kept and since when; the details themselves are the customer's to read."""

    list_display = ["id", "user_id", "team", "environment", "updated_at"]
    list_filter = ["environment"]
    list_select_related = ["team"]
    search_fields = ["=user__id", "=team__id"]
    exclude = ["details"]


@admin.register(Erasure)
class ErasureAdmin(PersonalAdmin):
    """Deletions of users and what became of them; the receipt of one that is done names nobody."""

    list_display = ["id", "status", "team", "environment", "requested_at", "due_at", "erased_at", "error_code"]
    list_filter = ["status", "environment"]
    list_select_related = ["team"]
    search_fields = ["=id", "=user_id", "=team__id"]
    exclude = ["receipt_signature", "receipt_public_key"]


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
