"""Shapes of what a team is told about itself: its figures, its settings, a search among its users."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from healthsvc.kernel.clock import utc_text
from healthsvc.kernel.fields import TextField
from healthsvc.kernel.principal import TeamContext
from healthsvc.kernel.typing import JSONObject
from management.models import Team, TeamSettings
from users.constants import CLIENT_USER_ID_MAXIMUM_CHARACTERS, SEARCH_LIMIT, SEARCH_QUERY_MINIMUM_CHARACTERS
from users.metrics import TeamMetrics

#: Events go to webhook endpoints, which is what this word means to existing clients.
_EVENT_DESTINATION = "svix"
#: Orders are signed by the customer's own physicians.
_DELEGATED_FLOW = "order_and_results_with_customer_physician_network"


class UserSearchQuery(serializers.Serializer[Any]):
    """Who is sought."""

    query_id = TextField(
        min_length=SEARCH_QUERY_MINIMUM_CHARACTERS,
        max_length=CLIENT_USER_ID_MAXIMUM_CHARACTERS,
        help_text=f"How the user's id or client_user_id begins, in its own case. At most {SEARCH_LIMIT} users answer.",
    )


@extend_schema_serializer(component_name="TimeseriesMetricPoint")
class WeekAnswer(serializers.Serializer[Any]):
    """A week in UTC."""

    date = serializers.DateTimeField(help_text="The Monday it begins with.")
    value = serializers.FloatField(help_text="Connections made in this week.")
    all = serializers.FloatField(help_text="Connections standing at its end; now, for the current week.")


@extend_schema_serializer(component_name="MetricsResult")
class MetricsAnswer(serializers.Serializer[Any]):
    """A team's figures."""

    team_id = serializers.UUIDField()
    number_of_users = serializers.IntegerField()
    number_of_connected_sources = serializers.IntegerField(help_text="Broken ones too.")
    number_of_errored_connected_sources = serializers.IntegerField()
    number_of_connected_sources_by_week = WeekAnswer(many=True)
    number_of_ordered_tests = serializers.IntegerField()


@extend_schema_serializer(component_name="LibreConfig")
class LibreAnswer(serializers.Serializer[Any]):
    """A practice at LibreView; none is kept."""

    practice_id = serializers.CharField(allow_null=True)
    strip_tz = serializers.BooleanField()


@extend_schema_serializer(component_name="EventDestinationPreferences")
class EventDestinationAnswer(serializers.Serializer[Any]):
    """Where events go."""

    preferred = serializers.CharField()
    enabled = serializers.ListField(child=serializers.CharField())


@extend_schema_serializer(component_name="TeamConfig")
class TeamConfigurationAnswer(serializers.Serializer[Any]):
    """A team's switches in the environment of the key."""

    libreview = LibreAnswer()
    texts_enabled = serializers.BooleanField()
    push_historical_data = serializers.BooleanField()
    provider_raw_data = serializers.BooleanField()
    reject_duplicate_connection = serializers.BooleanField()
    sdk_per_device_activity_timeseries = serializers.BooleanField()
    partial_webhooks_enabled = serializers.BooleanField()
    minor_ordering_enabled = serializers.BooleanField()
    eds_preferences = EventDestinationAnswer()
    event_type_prefixes = serializers.ListField(child=serializers.CharField(), allow_null=True)


@extend_schema_serializer(component_name="ClientFacingTeam")
class TeamAnswer(serializers.Serializer[Any]):
    """A team as its own keys see it. No secret is among it: fields that once held some are empty."""

    id = serializers.UUIDField()
    org_id = serializers.UUIDField()
    name = serializers.CharField()
    svix_app_id = serializers.CharField(allow_null=True)
    client_id = serializers.CharField(allow_blank=True)
    client_secret = serializers.CharField(allow_blank=True)
    airtable_api_key = serializers.CharField(allow_blank=True)
    airtable_base_id = serializers.CharField(allow_blank=True)
    webhook_secret = serializers.CharField(allow_blank=True)
    api_key = serializers.CharField(allow_blank=True)
    api_keys = serializers.ListField(child=serializers.DictField(), allow_null=True)
    configuration = TeamConfigurationAnswer()
    testkits_texts_enabled = serializers.BooleanField()
    lab_tests_patient_communication_enabled = serializers.BooleanField()
    lab_tests_patient_sms_communication_enabled = serializers.BooleanField()
    lab_tests_patient_email_communication_enabled = serializers.BooleanField()
    logo_url = serializers.CharField(allow_null=True)
    delegated_flow = serializers.CharField()
    critical_result_notification_email = serializers.CharField(allow_null=True)


def metrics_json(team: TeamContext, metrics: TeamMetrics) -> JSONObject:
    """What `MetricsAnswer` describes."""
    return {
        "team_id": str(team.team_id),
        "number_of_users": metrics.users,
        "number_of_connected_sources": metrics.connected_sources,
        "number_of_errored_connected_sources": metrics.errored_connected_sources,
        "number_of_connected_sources_by_week": [
            {"date": utc_text(week.starts_at), "value": float(week.made), "all": float(week.standing)}
            for week in metrics.weeks
        ],
        "number_of_ordered_tests": metrics.ordered_tests,
    }


def team_json(team: Team, chosen: TeamSettings, logo_url: str | None) -> JSONObject:
    """What `TeamAnswer` describes."""
    sms = chosen.lab_tests_patient_sms_communication_enabled
    email = chosen.lab_tests_patient_email_communication_enabled
    return {
        "id": str(team.id),
        "org_id": str(team.organisation_id),
        "name": team.name,
        "svix_app_id": None,
        "client_id": "",
        "client_secret": "",
        "airtable_api_key": "",
        "airtable_base_id": "",
        "webhook_secret": "",
        "api_key": "",
        "api_keys": None,
        "configuration": _configuration(chosen),
        "testkits_texts_enabled": sms,
        "lab_tests_patient_communication_enabled": sms or email,
        "lab_tests_patient_sms_communication_enabled": sms,
        "lab_tests_patient_email_communication_enabled": email,
        "logo_url": logo_url,
        "delegated_flow": _DELEGATED_FLOW,
        "critical_result_notification_email": chosen.critical_result_notification_email or None,
    }


def _configuration(chosen: TeamSettings) -> JSONObject:
    prefixes: list[str] = chosen.event_type_prefixes
    return {
        "libreview": {"practice_id": None, "strip_tz": False},
        "texts_enabled": chosen.lab_tests_patient_sms_communication_enabled,
        # What a backfill finds is read over the API, not sent.
        "push_historical_data": False,
        "provider_raw_data": False,
        "reject_duplicate_connection": chosen.reject_duplicate_connection,
        "sdk_per_device_activity_timeseries": chosen.sdk_per_device_activity_timeseries,
        "partial_webhooks_enabled": chosen.partial_webhooks_enabled,
        "minor_ordering_enabled": chosen.minor_ordering_enabled,
        "eds_preferences": {"preferred": _EVENT_DESTINATION, "enabled": [_EVENT_DESTINATION]},
        "event_type_prefixes": prefixes or None,
    }
