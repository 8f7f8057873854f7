"""Routes of this app at the management address."""

from healthsvc.kernel.routing import route
from management.key_api import ManagementKeyViewSet, TeamKeyViewSet
from management.management_api import AccessTokenViewSet, OrganisationViewSet, TeamViewSet
from management.member_api import InviteViewSet, MemberViewSet
from management.trail_api import AccessRecordViewSet, AccessSealViewSet, OrganisationRecordViewSet

_ORG = "v1/org/<org_id>"
_TEAM = f"{_ORG}/team/<team_id>"
_TEAM_KEYS = f"{_ORG}/team_api_keys/<env>/<region>"
_KEYS = f"{_ORG}/management_key"
_ENVIRONMENT = f"{_TEAM}/<environment>"
_CHANGED = {"patch": "partial_update", "delete": "destroy"}

urlpatterns = [
    route(_ORG, OrganisationViewSet, {"get": "retrieve", "patch": "partial_update"}),
    route(f"{_ORG}/team", TeamViewSet, {"get": "list", "post": "create"}),
    route(_TEAM, TeamViewSet, {"get": "retrieve", **_CHANGED}),
    route(f"{_TEAM}/undo_delete", TeamViewSet, {"post": "undelete"}),
    route(f"{_TEAM}/scope_requirements", TeamViewSet, {"get": "scope_requirements", "post": "scope_requirements_set"}),
    route(f"{_TEAM}/create_api_access_token", AccessTokenViewSet, {"post": "create"}),
    route(f"{_ORG}/resolve_team", TeamViewSet, {"post": "resolve"}),
    route(_TEAM_KEYS, TeamKeyViewSet, {"get": "list", "post": "create", "delete": "delete_many"}),
    route(f"{_TEAM_KEYS}/<api_key_id>/rotate", TeamKeyViewSet, {"post": "rotate"}),
    route(_KEYS, ManagementKeyViewSet, {"get": "list", "post": "create"}),
    route(f"{_KEYS}/<key_id>", ManagementKeyViewSet, _CHANGED),
    route(f"{_KEYS}/<key_id>/rotate", ManagementKeyViewSet, {"post": "rotate"}),
    route(f"{_ORG}/member", MemberViewSet, {"get": "list"}),
    route(f"{_ORG}/member/<member_id>", MemberViewSet, _CHANGED),
    route(f"{_ORG}/invite", InviteViewSet, {"get": "list", "post": "create"}),
    route(f"{_ORG}/invite/<invite_id>", InviteViewSet, {"delete": "destroy"}),
    route(f"{_ENVIRONMENT}/access_record", AccessRecordViewSet, {"get": "list"}),
    route(f"{_ENVIRONMENT}/access_record/export", AccessRecordViewSet, {"get": "export"}),
    route(f"{_ENVIRONMENT}/access_seal", AccessSealViewSet, {"get": "list"}),
    route(f"{_ENVIRONMENT}/access_seal/verification", AccessSealViewSet, {"get": "verify"}),
    route(f"{_ORG}/organisation_record", OrganisationRecordViewSet, {"get": "list"}),
]
