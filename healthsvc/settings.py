"""All settings, read strictly from the environment. Nothing here exists only in production.

`docs/settings.md` lists every variable; it is generated from `env.declared()`.
"""

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import django_stubs_ext

from healthsvc.env import EnvError, env_bool, env_int, env_list, env_path, env_secret, env_str
from healthsvc.kernel.logs import logging_config
from healthsvc.kernel.mail import MailServer, address_is_plain, mail_server_read

django_stubs_ext.monkeypatch()

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = env_path("HEALTHSVC_DATA_DIR", BASE_DIR / "var")

DEBUG = env_bool("DEBUG", False)
#: True under `make run` and the tests: servers and secrets are made on this machine, and some checks are softer.
EMBEDDED = env_bool("HEALTHSVC_EMBEDDED", False)

SECRET_KEY = env_secret("SECRET_KEY", "")
#: Keys the hashes of API keys and tokens; losing it makes every key unknown.
KEY_PEPPER = env_secret("KEY_PEPPER", "")
#: `id:base64 of 32 bytes`, comma separated, the current key first.
FIELD_ENCRYPTION_KEYS = env_secret("FIELD_ENCRYPTION_KEYS", "")

BASE_URL = env_str("BASE_URL", "http://localhost:8000").rstrip("/")
MANAGEMENT_URL = env_str("MANAGEMENT_URL", "http://localhost:8001").rstrip("/")
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
#: How many proxies in front may be believed about X-Forwarded-For.
TRUSTED_PROXY_COUNT = env_int("TRUSTED_PROXY_COUNT", 0, minimum=0, maximum=10)
if TRUSTED_PROXY_COUNT:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# --- Names that differ between installations -----------------------------------------------------------------------
TEAM_KEY_HEADERS = env_list("TEAM_KEY_HEADERS", ["x-service-api-key"])
MANAGEMENT_KEY_HEADERS = env_list("MANAGEMENT_KEY_HEADERS", ["X-Management-Key", "X-Service-Org-Key"])
LINK_TOKEN_HEADERS = env_list("LINK_TOKEN_HEADERS", ["x-service-link-token"])
PARQUET_MEDIA_TYPE = env_str("PARQUET_MEDIA_TYPE", "application/vnd.service.tar+gzip+parquet")
LINK_CODE_SCHEME = env_str("LINK_CODE_SCHEME", "healthsvc")
#: Answer aggregation columns as `func.column` always, not only where bare names would collide.
QUALIFIED_COLUMN_NAMES = env_bool("QUALIFIED_COLUMN_NAMES", False)

#: Files of an operator's own: `<slug>.toml` adds a provider or stands in the place of the one of that slug.
PROVIDER_CATALOGUE_DIR = env_str("PROVIDER_CATALOGUE_DIR", "")

# --- Applications --------------------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "healthsvc.runtime",
    "management",
    "users",
    "webhooks",
    "aggregation",
    "links",
    "labs",
    "orders",
]

MIDDLEWARE = [
    # Those that only add headers come first: what the next one refuses has them too.
    "healthsvc.pages.SecurityHeadersMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "healthsvc.kernel.middleware.RequestMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "management.staff.StaffScopeMiddleware",
]

ROOT_URLCONF = "healthsvc.urls"
MANAGEMENT_URLCONF = "healthsvc.management_urls"
WSGI_APPLICATION = "healthsvc.wsgi.application"
APPEND_SLASH = False
AUTH_USER_MODEL = "management.StaffUser"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]


# --- Database ------------------------------------------------------------------------------------------------------
def _database(url: str) -> dict[str, Any]:
    """Django's database setting for `postgresql://user:password@host:port/name?host=/socket&sslmode=…`."""
    parts = urlsplit(url)
    options: dict[str, str] = {}
    for piece in filter(None, parts.query.split("&")):
        name, _, value = piece.partition("=")
        options[name] = unquote(value)
    return {
        "ENGINE": "healthsvc.kernel.postgres",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", parts.hostname or ""),
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": env_int("DATABASE_CONNECTION_SECONDS", 600, minimum=0, maximum=86_400),
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": options,
        "DISABLE_SERVER_SIDE_CURSORS": False,
        "ATOMIC_REQUESTS": False,
    }


DATABASE_URL = env_secret("DATABASE_URL", "postgresql:///healthsvc")
#: The role that owns the tables and migrates them. The service itself must not run as it.
DATABASE_OWNER_URL = env_secret("DATABASE_OWNER_URL", DATABASE_URL)
#: A statement of the service that runs longer is ended by PostgreSQL; 0 for never. The owner's have no limit.
DATABASE_STATEMENT_SECONDS = env_int("DATABASE_STATEMENT_SECONDS", 60, minimum=0, maximum=86_400)
DATABASES = {"default": _database(DATABASE_URL), "owner": _database(DATABASE_OWNER_URL)}
DATABASES["owner"]["CONN_MAX_AGE"] = 0
DATABASES["owner"]["TEST"] = {"MIRROR": "default"}

#: The Celery application that tasks are sent through.
CELERY_APP = "healthsvc.celery.app"

# --- Broker --------------------------------------------------------------------------------------------------------
#: `redis://…`, `rediss://…` or `unix:///path?db=0`. Empty: Celery's filesystem broker, and no rate limits.
REDIS_URL = env_secret("REDIS_URL", "")
BROKER_DIR = env_path("HEALTHSVC_BROKER_DIR", DATA_DIR / "broker")

# --- Pages, static files -------------------------------------------------------------------------------------------
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Served from where they lie: no collecting step that a deployment could forget.
STATIC_ROOT = None
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
MEDIA_ROOT = DATA_DIR / "files"
STORAGES = {
    "default": {"BACKEND": "management.storage.EncryptedFileSystemStorage", "OPTIONS": {"location": MEDIA_ROOT}},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

# --- Browser security ----------------------------------------------------------------------------------------------
_https = BASE_URL.startswith("https://")
SESSION_COOKIE_SECURE = _https
CSRF_COOKIE_SECURE = _https
# Forms hold their token themselves, no script reads the cookie; link pages have one of their own, at their own path.
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_PATH = "/admin/"
CSRF_COOKIE_AGE = None
SESSION_COOKIE_HTTPONLY = True
#: Staff are logged off after 15 idle minutes.
SESSION_COOKIE_AGE = 15 * 60
SESSION_SAVE_EVERY_REQUEST = True
X_FRAME_OPTIONS = "DENY"
# "no-referrer" would make browsers send `Origin: null` with forms, which the CSRF check refuses.
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_HSTS_SECONDS = 31_536_000 if _https else 0
CSRF_TRUSTED_ORIGINS = [BASE_URL]
CSRF_FAILURE_VIEW = "healthsvc.pages.csrf_failure"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000_000
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.TemporaryFileUploadHandler"]

# --- API -----------------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_PARSER_CLASSES": ["healthsvc.kernel.json_io.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["healthsvc.kernel.json_io.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "healthsvc.kernel.negotiation.LenientNegotiation",
    "DEFAULT_SCHEMA_CLASS": "healthsvc.kernel.openapi.ServiceSchema",
    "EXCEPTION_HANDLER": "healthsvc.kernel.api.error_response",
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
    "URL_FORMAT_OVERRIDE": None,
}
#: Which credentials open which kind of view. An app that adds a kind of credential is named here, not imported.
AUTHENTICATORS = {
    "team": ["management.authentication.AccessTokenAuthentication", "management.authentication.TeamKeyAuthentication"],
    "management": ["management.authentication.ManagementKeyAuthentication"],
    "link_or_team": [
        "links.authentication.LinkTokenAuthentication",
        "management.authentication.AccessTokenAuthentication",
        "management.authentication.TeamKeyAuthentication",
    ],
    "link_any_or_team": [
        "links.authentication.LinkTokenOfAnyStateAuthentication",
        "management.authentication.AccessTokenAuthentication",
        "management.authentication.TeamKeyAuthentication",
    ],
    "session_or_team": [
        # First: it leaves bearer tokens of another form to the next.
        "management.authentication.AccessTokenAuthentication",
        "links.authentication.DeviceSessionAuthentication",
        "management.authentication.TeamKeyAuthentication",
    ],
}
REPLY_KEEPER = "management.idempotency.DatabaseReplyKeeper"
AUDIT_WRITER = "management.audit.request_record"
AUDIT_RETENTION_MONTHS = env_int("AUDIT_RETENTION_MONTHS", 72, minimum=12, maximum=1200)
RATE_LIMIT_REQUESTS = env_int("RATE_LIMIT_REQUESTS", 6000, minimum=0)
RATE_LIMIT_WINDOW_SECONDS = env_int("RATE_LIMIT_WINDOW_SECONDS", 60, minimum=1, maximum=3600)

SPECTACULAR_SETTINGS = {
    "TITLE": "healthsvc",
    "DESCRIPTION": "One API for a digital-health company's wearable data and lab testing.",
    "VERSION": "0.1.0",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_ADD_EXPLICIT_BLANK_NULL_CHOICE": True,
    "PREPROCESSING_HOOKS": [],
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "healthsvc.kernel.openapi.add_error_answers",
        "webhooks.openapi.add_events",
    ],
    "SORT_OPERATION_PARAMETERS": False,
    # Fields called `status` of several kinds: without names they would be called after a hash.
    "ENUM_NAME_OVERRIDES": {
        "JobStatusEnum": "webhooks.log_serializers.JOB_STATUSES",
        "DeliveryStatusEnum": "webhooks.log_serializers.DELIVERY_STATUSES",
        "EndpointStatusEnum": "webhooks.serializers.ENDPOINT_STATUSES",
        "KeyRole": "management.constants.KeyRole",
        "MemberRole": "management.constants.MemberRole",
        "EnvironmentEnum": "healthsvc.kernel.rows.ENVIRONMENT_CHOICES",
        "Gender": "users.constants.Gender",
        "ResponsibleRelationship": "users.constants.ResponsibleRelationship",
        "PayorCodeExternalProvider": "users.constants.PayorProvider",
        "ClientFacingPayorCodeSource": "users.constants.PayorSource",
    },
}

#: Pumps at once, over all workers; each takes a worker's slot while there is something to deliver.
WEBHOOK_PUMPS = env_int("WEBHOOK_PUMPS", 1, minimum=1, maximum=64)
#: How long events, deliveries and attempts are kept. Attempts go on for more than a day, so three is the least.
WEBHOOK_RETENTION_DAYS = env_int("WEBHOOK_RETENTION_DAYS", 30, minimum=3, maximum=3650)
#: Who shows it may read `/metrics` at the management address; empty: nobody.
METRICS_TOKEN = env_secret("METRICS_TOKEN", "")

#: Processes of the worker, of which no one provider's pulls and no wave of first pulls may take the last.
WORKER_CONCURRENCY = env_int("WORKER_CONCURRENCY", 2, minimum=1, maximum=64)

#: Requests that a web process serves at once, of which half may wait for somebody else (`kernel.waiting`).
WEB_THREADS = env_int("WEB_THREADS", 16, minimum=4, maximum=256)

#: The largest Apple Health export that is taken, as it is on the wire.
EXPORT_MAXIMUM_BYTES = env_int("EXPORT_MAXIMUM_BYTES", 4 * 1024**3, minimum=1)

#: How long the archive of everything about a user can be downloaded before it is removed.
USER_EXPORT_DAYS = env_int("USER_EXPORT_DAYS", 7, minimum=1, maximum=90)

# --- Outbound requests ---------------------------------------------------------------------------------------------
#: Exact origins on this machine that outbound requests may reach: the simulator and the webhook receiver.
LOOPBACK_ORIGINS = env_list("HEALTHSVC_LOOPBACK_ORIGINS", [])
#: Private networks that a self-hoster's webhook receivers live in; none by default.
OUTBOUND_ALLOWED_NETWORKS = env_list("OUTBOUND_ALLOWED_NETWORKS", [])
SIMULATOR_URL = env_str("SIMULATOR_URL", "http://127.0.0.1:8002").rstrip("/")

# --- E-mail --------------------------------------------------------------------------------------------------------
#: The address that letters come from.
EMAIL_FROM = env_str("EMAIL_FROM", "")
#: Who of the operator's staff is written to when an endpoint is disabled; nobody by default.
STAFF_NOTICE_EMAILS = env_list("STAFF_NOTICE_EMAILS", [])


def _mail_server(url: str) -> MailServer | None:
    """Where letters are handed in; None where none are sent."""
    try:
        server = mail_server_read(url)
    except ValueError:
        raise EnvError("EMAIL_URL must be smtp://user:password@host:port, smtps://…, or empty.") from None
    if server is not None and not address_is_plain(EMAIL_FROM):
        raise EnvError("EMAIL_FROM must be an e-mail address where EMAIL_URL is set.")
    if not all(address_is_plain(address) for address in STAFF_NOTICE_EMAILS):
        raise EnvError("STAFF_NOTICE_EMAILS must hold e-mail addresses, separated by commas.")
    return server


#: `smtp://user:password@host:port` or `smtps://…`. Empty: nobody is written to, a log line tells.
MAIL_SERVER = _mail_server(env_secret("EMAIL_URL", ""))

LOGGING = logging_config(level=env_str("LOG_LEVEL", "INFO"), as_json=env_bool("LOG_JSON", False))
TEST_RUNNER = "django.test.runner.DiscoverRunner"
