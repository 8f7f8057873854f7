"""Routes of the users app at the team API. Order matters: fixed words stand before `<user_id>`."""

from healthsvc.kernel.routing import route
from users.access_api import UserAccessViewSet
from users.api import UserViewSet
from users.demographics_api import DemographicsViewSet
from users.erasure_api import DeletableUserViewSet, ErasureViewSet
from users.export_api import ExportDownloadViewSet, ExportViewSet
from users.insurance_api import DiagnosisViewSet, InsuranceViewSet
from users.payor_api import PayorViewSet
from users.team_api import TeamViewSet

urlpatterns = [
    route("v2/user", UserViewSet, {"get": "list", "post": "create"}),
    route("v2/user/resolve/<path:client_user_id>", UserViewSet, {"get": "resolve"}),
    route("v2/user/metrics", TeamViewSet, {"get": "metrics"}),
    route("v2/user/<user_id>/info", DemographicsViewSet, {"patch": "partial_update"}),
    route("v2/user/<user_id>/info/latest", DemographicsViewSet, {"get": "latest"}),
    route("v2/user/<user_id>/insurance", InsuranceViewSet, {"post": "create"}),
    route("v2/user/<user_id>/insurance/latest", InsuranceViewSet, {"get": "latest"}),
    route("v3/insurance/search/payor", PayorViewSet, {"get": "search", "post": "search_old"}),
    route("v3/insurance/search/diagnosis", DiagnosisViewSet, {"get": "search"}),
    route("v3/insurance/validate_icd_codes", DiagnosisViewSet, {"post": "validate"}),
    route("v3/payor", PayorViewSet, {"post": "create"}),
    route("v2/team/users/search", TeamViewSet, {"get": "users_search"}),
    route("v2/team/<team_id>", TeamViewSet, {"get": "retrieve"}),
    route("v2/user/undo_delete", ErasureViewSet, {"post": "undo"}),
    route("v2/user/erasure/<erasure_id>", ErasureViewSet, {"get": "retrieve"}),
    route("v2/user/<user_id>/export", ExportViewSet, {"get": "list", "post": "create"}),
    route("v2/user/<user_id>/export/<export_id>", ExportViewSet, {"get": "retrieve"}),
    route("v2/user/<user_id>/export/<export_id>/download", ExportDownloadViewSet, {"get": "retrieve"}),
    route("v2/user/<user_id>/access_record", UserAccessViewSet, {"get": "list"}),
    route(
        "v2/user/<user_id>",
        DeletableUserViewSet,
        {"get": "retrieve", "patch": "partial_update", "delete": "destroy"},
    ),
]
