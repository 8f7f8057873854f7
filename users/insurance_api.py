"""Users' insurances over HTTP, and the diagnosis codes that are claimed with them."""

from uuid import UUID

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from healthsvc.kernel.api import Access, ServiceViewSet
from users import services
from users.diagnosis_selectors import codes_check, diagnoses_search
from users.diagnosis_serializers import DiagnosisAnswer, DiagnosisCodesAnswer, DiagnosisCodesBody, DiagnosisQuery
from users.icd10cm import code_written
from users.insurance_selectors import insurance_latest
from users.insurance_serializers import (
    InsuranceAnswer,
    InsuranceBody,
    InsuranceQuery,
    insurance_given,
    insurance_json,
)

_TAGS = ["Insurance"]


class InsuranceViewSet(ServiceViewSet):
    """A user's insurances."""

    access = Access.TEAM

    @extend_schema(
        operation_id="create_insurance",
        summary="Add an insurance",
        request=InsuranceBody,
        responses={
            200: InsuranceAnswer,
            400: OpenApiResponse(description="The user's demographics are needed first."),
        },
        tags=_TAGS,
    )
    def create(self, request: Request, user_id: UUID) -> Response:
        """Keep an insurance of the user; those told before stay as history."""
        given = insurance_given(self.body(InsuranceBody))
        return Response(insurance_json(services.insurance_create(team=self.team, user_id=user_id, given=given)))

    @extend_schema(
        operation_id="get_latest_insurance",
        summary="Get the latest insurance",
        parameters=[InsuranceQuery],
        responses=InsuranceAnswer,
        tags=_TAGS,
    )
    def latest(self, request: Request, user_id: UUID) -> Response:
        """The newest primary insurance of the user, or the newest other one."""
        query = self.query(InsuranceQuery)
        return Response(insurance_json(insurance_latest(self.team, user_id, is_primary=query["is_primary"])))


class DiagnosisViewSet(ServiceViewSet):
    """Diagnosis codes of ICD-10-CM, the same for every team."""

    access = Access.TEAM
    audited = False
    keeps_replies = False

    @extend_schema(
        operation_id="search_diagnosis",
        summary="Search diagnosis codes",
        parameters=[DiagnosisQuery],
        responses=DiagnosisAnswer(many=True),
        tags=_TAGS,
    )
    def search(self, request: Request) -> Response:
        """Complete codes that begin with the query, then those whose descriptions have words that begin like its."""
        found = diagnoses_search(self.query(DiagnosisQuery)["diagnosis_query"])
        return Response([{"diagnosis_code": code_written(row.code), "description": row.description} for row in found])

    @extend_schema(
        operation_id="validate_icd_codes",
        summary="Validate diagnosis codes",
        request=DiagnosisCodesBody,
        responses=DiagnosisCodesAnswer,
        tags=_TAGS,
    )
    def validate(self, request: Request) -> Response:
        """Whether all are complete codes, and which exclude each other."""
        checked = codes_check(self.body(DiagnosisCodesBody)["codes"])
        return Response(
            {
                "valid": checked.valid,
                "errors": checked.errors,
                "violations": [
                    {"code": pair.code, "conflicts_with": pair.other, "type": "excludes1"}
                    for pair in checked.violations
                ],
                "warnings": [
                    {"code": pair.code, "overlaps_with": pair.other, "type": "excludes2"} for pair in checked.warnings
                ],
            }
        )
