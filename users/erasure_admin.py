"""Staff views of erasures: how far each is, and the signed receipt of one that is done, to read and to hand on."""

import base64
import json
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString

from management.staff_admin import PersonalAdmin
from management.staff_lists import NarrowAdmin, TeamFilter, id_short, moment_short, text_shown
from users.erasure_serializers import erasure_json
from users.models import Erasure
from users.receipts import ALGORITHM


@admin.register(Erasure)
class ErasureAdmin(NarrowAdmin, PersonalAdmin):
    """Deletions of users and what became of them; the receipt of one that is done names nobody."""

    change_form_template = "admin/users/erasure.html"
    list_display = ["id_end", "status", "error_code", "requested", "due", "erased", "team", "environment"]
    list_filter = ["status", "environment", TeamFilter]
    list_select_related = ["team"]
    ordering = ["-id"]
    search_fields = ["=id", "=user_id", "=team__id"]
    exclude = ["rows_erased", "receipt", "receipt_signature", "receipt_public_key"]
    readonly_fields = ["rows", "receipt_text", "signature", "public_key"]

    @admin.display(description="id")
    def id_end(self, erasure: Erasure) -> SafeString:
        """The end of it."""
        return id_short(erasure.pk)

    @admin.display(description="requested (UTC)", ordering="requested_at")
    def requested(self, erasure: Erasure) -> str:
        """To the second."""
        return moment_short(erasure.requested_at)

    @admin.display(description="due (UTC)", ordering="due_at")
    def due(self, erasure: Erasure) -> str:
        """To the second."""
        return moment_short(erasure.due_at)

    @admin.display(description="erased (UTC)", ordering="erased_at")
    def erased(self, erasure: Erasure) -> str:
        """To the second."""
        return moment_short(erasure.erased_at)

    @admin.display(description="rows erased or emptied")
    def rows(self, erasure: Erasure) -> SafeString:
        """By table, one a line."""
        return text_shown(json.dumps(erasure.rows_erased, indent=2, sort_keys=True))

    @admin.display(description="receipt")
    def receipt_text(self, erasure: Erasure) -> SafeString | str:
        """What it says, a line each; what is signed is the text without these lines, as it is downloaded."""
        return text_shown(json.dumps(json.loads(erasure.receipt), indent=2)) if erasure.receipt else "none yet"

    @admin.display(description="signature")
    def signature(self, erasure: Erasure) -> SafeString | str:
        """In Base64."""
        return _base64(erasure.receipt_signature)

    @admin.display(description="public key")
    def public_key(self, erasure: Erasure) -> SafeString | str:
        """In Base64."""
        return _base64(erasure.receipt_public_key)

    def get_urls(self) -> list[URLPattern]:
        """The receipt, beside the usual ones."""
        wrapped = self.admin_site.admin_view(self.receipt_view)
        return [path("<uuid:erasure_id>/receipt/", wrapped, name="users_erasure_receipt"), *super().get_urls()]

    def receipt_view(self, request: HttpRequest, erasure_id: UUID) -> HttpResponse:
        """The receipt as a file, as `GET /v2/user/erasure/{erasure_id}` has it. Leaves a trace, as its page does."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        erasure: Erasure | None = self.get_object(request, str(erasure_id))
        receipt: Any = None if erasure is None else erasure_json(erasure)["receipt"]
        if receipt is None:
            raise Http404
        response = HttpResponse(json.dumps(receipt, indent=2), content_type="application/json")
        response["Content-Disposition"] = f'attachment; filename="erasure_receipt_{erasure_id}.json"'
        return response


def _base64(value: Any) -> SafeString | str:
    if value is None:
        return "none yet"
    return format_html('<span class="whole">{}</span> ({})', base64.b64encode(bytes(value)).decode(), ALGORITHM)
