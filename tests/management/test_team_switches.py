"""Every switch of a team has an effect, or is kept for lab orders and said so."""

from pathlib import Path

from django.conf import settings
from django.db import models

from healthsvc.kernel.principal import Environment
from management import services
from management.models import TeamSettings
from tests.clients import ApiClient
from tests.factories import Tenant, environment_make, user_make
from tests.links.signing_in import device, session_of

#: Answered and kept, for lab orders alone: nothing reads them before there are any.
OF_LAB_ORDERS = {
    "lab_tests_patient_sms_communication_enabled", "lab_tests_patient_email_communication_enabled",
    "critical_result_notification_email", "partial_webhooks_enabled", "minor_ordering_enabled", "patient_experience",
}  # fmt: skip
#: Where a column is only written down, shown or checked.
_ONLY_KEPT = ("migrations", "models", "preferences.py", "team_serializers.py", "brand_admin.py")


def _sources() -> str:
    apps = [path for name in ("management", "users", "webhooks", "aggregation", "links") for path in _python(name)]
    return "\n".join(path.read_text() for path in apps)


def _python(name: str) -> list[Path]:
    found = (settings.BASE_DIR / name).rglob("*.py")
    return [path for path in found if not any(part in _ONLY_KEPT for part in path.parts)]


def test_every_switch_is_read_or_is_for_lab_orders() -> None:
    sources = _sources()
    switches = {
        field.name
        for field in TeamSettings._meta.local_fields
        if not isinstance(field, models.ForeignKey) and field.name not in ("id", "environment")
    }
    unread = {name for name in switches if f".{name}" not in sources and f'"{name}"' not in sources}
    assert unread == OF_LAB_ORDERS, "a switch without effect, or one that has an effect by now"


def test_a_telephone_is_told_whether_to_send_for_each_device(team: Tenant, api: ApiClient) -> None:
    telephone = device(session_of(api, user_make(team)))

    def told() -> bool:
        answer: bool = telephone.get("/v2/session").json()["sdk_per_device_activity_timeseries"]
        return answer

    assert told() is False
    changes = {"sdk_per_device_activity_timeseries": True}
    services.team_settings_change(team=environment_make(team, Environment.PRODUCTION).context, changes=changes)
    assert told() is False
    services.team_settings_change(team=team.context, changes=changes)
    assert told() is True
