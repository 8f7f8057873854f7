"""The OpenAPI document and the documentation page of each address."""

from functools import lru_cache
from threading import Lock

import orjson
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.templatetags.static import static
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator

#: The generator marks the views it looks at, so two threads must not run it at once.
_generating = Lock()


def openapi_document(urlconf: str) -> bytes:
    """The OpenAPI 3.1 document of an address, as indented JSON; made once a process."""
    with _generating:
        return _document(urlconf)


@lru_cache(maxsize=2)
def _document(urlconf: str) -> bytes:
    document = SchemaGenerator(urlconf=urlconf).get_schema(request=None, public=True)
    return orjson.dumps(document, default=str, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS)


@require_safe
def openapi(request: HttpRequest) -> HttpResponse:
    """`GET /openapi.json`."""
    urlconf = getattr(request, "urlconf", None) or settings.ROOT_URLCONF
    return HttpResponse(openapi_document(urlconf), content_type="application/json")


@require_safe
def docs(request: HttpRequest) -> HttpResponseBase:
    """`GET /docs`: the document as a page, drawn by files of this service only."""
    response = render(request, "docs.html", {"dist": static("drf_spectacular_sidecar/swagger-ui-dist")})
    # Swagger UI sets style attributes of its own; scripts stay our files only.
    response["Content-Security-Policy"] = (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
        " connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'"
    )
    return response
