"""Staff views of users."""

from django.contrib import admin

from management.staff_admin import PersonalAdmin
from users.models import User


@admin.register(User)
class UserAdmin(PersonalAdmin):
    """People, read only: what is theirs is changed through the API."""

    list_display = ["id", "client_user_id", "team", "environment", "created_at", "deleted_at"]
    list_filter = ["environment"]
    list_select_related = ["team"]
    search_fields = ["=id", "=client_user_id", "=team__id"]
    exclude = ["fallback_birth_date"]
    user_id_attribute = "id"
