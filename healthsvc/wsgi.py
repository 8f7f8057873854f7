"""The two WSGI applications: the team API with its pages, and the management address."""

import os
from collections.abc import Iterable
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

from django.core.wsgi import get_wsgi_application

from healthsvc.checks import refuse_unsafe_start
from healthsvc.kernel.address import ADDRESS_KEY, MANAGEMENT_ADDRESS

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "healthsvc.settings")

application = get_wsgi_application()
refuse_unsafe_start()


def management_application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[Any]:
    """The same Django, told that the request came in at the management address."""
    environ[ADDRESS_KEY] = MANAGEMENT_ADDRESS
    return application(environ, start_response)
