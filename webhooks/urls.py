"""Routes of this app at the team API, and the pages of the portal."""

from django.urls import path
from django.views.generic import RedirectView

from healthsvc.kernel.routing import route
from webhooks.portal import (
    activity,
    attempts,
    endpoints,
    event_types,
    headers,
    logs,
    opening,
    repairs,
    secrets,
    sending,
)
from webhooks.portal_api import PortalLinkViewSet

_ENDPOINT = "portal/endpoint/<uuid:endpoint_id>"

urlpatterns = [
    route("v2/team/svix/url", PortalLinkViewSet, {"get": "retrieve"}),
    path("portal", RedirectView.as_view(url="/portal/")),
    path("portal/open", opening.open_link, name="portal_open"),
    path("portal/sign_out", opening.sign_out, name="portal_sign_out"),
    path("portal/", endpoints.endpoint_list, name="portal_endpoints"),
    path("portal/endpoint/new", endpoints.endpoint_new, name="portal_endpoint_new"),
    path(_ENDPOINT, endpoints.endpoint, name="portal_endpoint"),
    path(f"{_ENDPOINT}/edit", endpoints.endpoint_edit, name="portal_endpoint_edit"),
    path(f"{_ENDPOINT}/delete", endpoints.endpoint_delete, name="portal_endpoint_delete"),
    path(f"{_ENDPOINT}/enable", endpoints.endpoint_enable, name="portal_endpoint_enable"),
    path(f"{_ENDPOINT}/headers", headers.headers, name="portal_endpoint_headers"),
    path(f"{_ENDPOINT}/secret", secrets.secret, name="portal_endpoint_secret"),
    path(f"{_ENDPOINT}/secret/rotate", secrets.rotate, name="portal_endpoint_rotate"),
    path(f"{_ENDPOINT}/send", sending.send, name="portal_endpoint_test"),
    path(f"{_ENDPOINT}/attempts", attempts.attempts, name="portal_attempts"),
    path(f"{_ENDPOINT}/activity", activity.endpoint_activity, name="portal_endpoint_activity"),
    path(f"{_ENDPOINT}/recover", repairs.recover, name="portal_recover"),
    path(f"{_ENDPOINT}/replay", repairs.replay, name="portal_replay"),
    path(f"{_ENDPOINT}/resend/<uuid:message_id>", repairs.resend, name="portal_resend"),
    path("portal/repair/<uuid:job_id>", repairs.repair, name="portal_repair"),
    path("portal/activity", activity.activity, name="portal_activity"),
    path("portal/messages", logs.messages, name="portal_messages"),
    path("portal/message/<uuid:message_id>", logs.message, name="portal_message"),
    path("portal/attempt/<uuid:attempt_id>", attempts.attempt, name="portal_attempt"),
    path("portal/event_types", event_types.event_types, name="portal_event_types"),
    path("portal/event_type/<str:event_type>", event_types.event_type, name="portal_event_type"),
]
