"""Routes of the links app at the team API, and its pages."""

from django.urls import path

from healthsvc.kernel.routing import route
from links import hooks_pages, pages
from links.api import LinkTokenViewSet, UserConnectionViewSet, UserRefreshViewSet
from links.bulk_api import BulkViewSet
from links.catalogue_api import LinkProviderViewSet, OAuthLinkViewSet, ProviderViewSet
from links.connection_api import ConnectionViewSet
from links.demo_api import DemoViewSet
from links.device_api import ManualConnectViewSet, SyncCompleteViewSet
from links.introspection_api import HistoricalPullViewSet
from links.password_api import EmailLinkViewSet, OlderLinkViewSet, PasswordLinkViewSet
from links.session_api import (
    AppKeyRevocationViewSet,
    LinkCodeExchangeViewSet,
    LinkCodeViewSet,
    SessionTokenViewSet,
    SessionViewSet,
    SignInTokenViewSet,
    UserSessionViewSet,
)
from links.token_api import LinkStartViewSet, LinkTokenCheckViewSet, LinkTokenStateViewSet

urlpatterns = [
    route("v2/introspect/historical_pull", HistoricalPullViewSet, {"get": "list"}),
    route("v2/link/auth", OlderLinkViewSet, {"post": "password"}),
    route("v2/link/auth/email", OlderLinkViewSet, {"post": "email"}),
    route("v2/link/provider/oauth/<oauth_provider>", OAuthLinkViewSet, {"get": "retrieve"}),
    route("v2/link/provider/email/<provider>", EmailLinkViewSet, {"post": "create"}),
    route("v2/link/provider/password/<provider>", PasswordLinkViewSet, {"post": "create"}),
    route("v2/link/provider/password/<provider>/complete_mfa", PasswordLinkViewSet, {"post": "complete_mfa"}),
    route("v2/link/bulk_export", BulkViewSet, {"post": "export"}),
    route("v2/link/bulk_import", BulkViewSet, {"post": "imports"}),
    route("v2/link/bulk_op", BulkViewSet, {"get": "list"}),
    route("v2/link/bulk_pause", BulkViewSet, {"post": "pause"}),
    route("v2/link/bulk_trigger_historical_pull", BulkViewSet, {"post": "trigger"}),
    route("v2/link/connect/demo", DemoViewSet, {"post": "create"}),
    route("v2/link/code/create", LinkCodeViewSet, {"post": "create"}),
    route("v2/link/code/exchange", LinkCodeExchangeViewSet, {"post": "create"}),
    route("v2/link/providers", LinkProviderViewSet, {"get": "list"}),
    route("v2/providers", ProviderViewSet, {"get": "list"}),
    route("v2/team/link/config", LinkProviderViewSet, {"get": "config"}),
    route("v2/link/token", LinkTokenViewSet, {"post": "create"}),
    route("v2/link/provider/manual/<provider>", ManualConnectViewSet, {"post": "create"}),
    route("v2/link/start", LinkStartViewSet, {"post": "create"}),
    route("v2/link/state", LinkTokenStateViewSet, {"get": "retrieve"}),
    route("v2/link/token/isValid", LinkTokenCheckViewSet, {"post": "create"}),
    route("v2/session", SessionViewSet, {"get": "retrieve"}),
    route("v2/session/exchange", SessionTokenViewSet, {"post": "exchange"}),
    route("v2/session/refresh", SessionTokenViewSet, {"post": "refresh"}),
    route("v2/session/revoke", SessionTokenViewSet, {"post": "revoke"}),
    route("v2/user/<user_id>/revoke_app_api_key", AppKeyRevocationViewSet, {"post": "create"}),
    route("v2/user/<user_id>/sessions", UserSessionViewSet, {"get": "list"}),
    route("v2/user/<user_id>/sessions/revoke", UserSessionViewSet, {"post": "revoke_all"}),
    route("v2/user/<user_id>/sessions/<session_id>/revoke", UserSessionViewSet, {"post": "revoke"}),
    route("v2/user/<user_id>/sign_in_token", SignInTokenViewSet, {"post": "create"}),
    route("v2/user/<user_id>/sync_complete", SyncCompleteViewSet, {"post": "create"}),
    route("v2/user/providers/<user_id>", UserConnectionViewSet, {"get": "list"}),
    route("v2/user/refresh/<user_id>", UserRefreshViewSet, {"post": "create"}),
    # Last of its shape: any two words after `user` would match it.
    route("v2/user/<user_id>/<provider>", ConnectionViewSet, {"delete": "destroy"}),
    path("link/hook/<slug:provider>/<uuid:hook_id>", hooks_pages.hook),
    path("link/open", pages.open_token),
    path("link/ended", pages.ended_page, name="link_ended"),
    path("link/window", pages.window, name="link_window"),
    path("link/callback/<slug:slug>", pages.callback),
    path("link/brand/<uuid:logo_id>", pages.brand_logo, name="link_brand_logo"),
    path("link/brand/<slug:color>.css", pages.brand_style, name="link_brand_style"),
    path("link/<uuid:session_id>", pages.providers, name="link_providers"),
    path("link/<uuid:session_id>/close", pages.close, name="link_close"),
    path("link/<uuid:session_id>/refused", pages.refused, name="link_refused"),
    path("link/<uuid:session_id>/result", pages.result, name="link_result"),
    path("link/<uuid:session_id>/return", pages.returning, name="link_return"),
    path("link/<uuid:session_id>/return/go", pages.returning_go, name="link_return_go"),
    path("link/<uuid:session_id>/provider/<slug:slug>", pages.consent, name="link_consent"),
    path("link/<uuid:session_id>/provider/<slug:slug>/onward", pages.onward, name="link_onward"),
    path("link/<uuid:session_id>/provider/<slug:slug>/continue", pages.depart, name="link_depart"),
    path("link/<uuid:session_id>/provider/<slug:slug>/login", pages.login, name="link_login"),
    path("link/<uuid:session_id>/provider/<slug:slug>/code", pages.code, name="link_code"),
]
