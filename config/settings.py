"""Settings. Everything is read from the environment; with nothing set, the embedded services are used.

Every variable is described in docs/operating.md.
"""

import secrets
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from celery.schedules import crontab
from kombu import Queue

from config.api import openapi
from config.environment import openid, words
from config.environment.variables import LEVELS, BadVariable, Environment, is_set, multiplied
from config.laptop.embedded import addresses
from config.laptop.serving.address import served_at
from config.processes.logging import configuration

BASE_DIR = Path(__file__).resolve().parent.parent

env = Environment()

# The folder of all data outside of PostgreSQL: the embedded services, generated secrets.
STATE_DIR = env.state_folder("STATE_DIR")


def _kept_secret(name: str) -> str:
    """A random secret kept in the state folder, made on first use and readable by its owner only."""
    path = STATE_DIR / name
    try:
        if not path.exists():
            _make_secret(path)
        return path.read_text().strip()
    except OSError as error:
        raise BadVariable("STATE_DIR", f"{error.filename or path} cannot be used: {error.strerror}") from None


def _make_secret(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{secrets.token_hex(4)}")
    fresh.touch(mode=0o600)
    try:
        fresh.write_text(secrets.token_hex(32))
        # A hard link fails if another process created the file first: all processes then use the same secret.
        path.hardlink_to(fresh)
    except FileExistsError:
        pass
    finally:
        fresh.unlink()


def _secret_key() -> str:
    """The SECRET_KEY, which production must set: hosts with generated keys could not read each other's jobs."""
    given = env.text("SECRET_KEY")
    if given.strip():
        return given
    if PRODUCTION:
        advice = "is needed with PRODUCTION=1, the same on every machine; `openssl rand -hex 32` makes one"
        raise BadVariable("SECRET_KEY", advice)
    return _kept_secret("secret-key")


PRODUCTION = env.flag("PRODUCTION")
# Production's rules on one machine, for trials: settings that prevent production's start only cause warnings.
REHEARSAL = env.flag("REHEARSAL")
DEBUG = env.flag("DEBUG")
SECRET_KEY = _secret_key()
# The keys of all encrypted columns (config/encryption.py): the first encrypts, all decrypt. Everybody knows an
# empty key, which an extra comma would create.
ENCRYPTION_KEYS = env.words("ENCRYPTION_KEYS", [SECRET_KEY])
ALLOWED_HOSTS = env.hosts("ALLOWED_HOSTS", ["*"])
# The public address of this installation, for links in mails and addresses in answers. While `make serve` runs on
# the same state folder, commands use its address.
_port = env.integer("PORT", 8000, 1, 65535)
_served_at = "" if PRODUCTION or is_set("PORT") else served_at(STATE_DIR)
SITE_URL = env.site("SITE_URL", _served_at or f"http://127.0.0.1:{_port}")
# The address of the stream processes. Set it if no proxy routes their paths to them at the site's own address.
STREAM_URL = env.site("STREAM_URL", SITE_URL) if is_set("STREAM_URL") else ""
# Behind a proxy that ends TLS, a form has an origin of https:// and arrives by http://. That origin is trusted
# here.
CSRF_TRUSTED_ORIGINS: list[str] = env.origins("CSRF_TRUSTED_ORIGINS")
if urlsplit(SITE_URL).scheme == "https" and SITE_URL not in CSRF_TRUSTED_ORIGINS:
    CSRF_TRUSTED_ORIGINS.append(SITE_URL)

INSTALLED_APPS = [
    "config",
    "accounts",
    "regions",
    "tags",
    "compute",
    "managed",
    "config.admin.apps.SiteConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "corsheaders",
    "rest_framework",
    "django_filters",
    "django_htmx",
    "oauth2_provider",
    "drf_spectacular",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LANGUAGE_CODE = "en-us"
USE_I18N = False
USE_TZ = True
FORMAT_MODULE_PATH = "config.formats"
TIME_ZONE = "UTC"
APPEND_SLASH = False

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
                "accounts.pages.frame.frame",
            ],
        },
    },
]
STATIC_URL = "/static/"
# Static files, which web processes serve: from this folder, filled by collectstatic, or else from the packages.
STATIC_ROOT = str(env.folder("STATIC_ROOT", Path())) if env.text("STATIC_ROOT").strip() else None
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    # collectstatic also writes each file compressed, and WhiteNoise serves the compressed file to browsers that
    # accept it.
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False

LOGGING = configuration(production=PRODUCTION, level=env.choice("LOG_LEVEL", "INFO", LEVELS))

AUTH_USER_MODEL = "accounts.User"
PASSWORD_HASHERS = [
    "accounts.hashers.PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
    "accounts.oauth.hashers.ClientSecretHasher",  # of OAuth clients' secrets, see OAUTH2_PROVIDER
]

# --- PostgreSQL: DATABASE_URL, or the embedded one in the state folder --------------------------------------
_database = env.database("DATABASE_URL") or addresses.database(STATE_DIR)
# Whether statements are prepared on the server. None: if there is no pooler in between (config/db/connections.py).
PREPARED_STATEMENTS = env.flag("PREPARED_STATEMENTS") if env.text("PREPARED_STATEMENTS").strip() else None
DATABASES = {
    "default": {
        **_database,
        # Django's backend, which replaces lost connections (docs/decisions/lost-connections.md).
        "ENGINE": "config.db.postgresql",
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            # Seconds. Without this limit, connecting to a frozen database takes two minutes.
            "connect_timeout": 10,
            **_database.get("OPTIONS", {}),
            # Each worker keeps one connection for its life, so prepared statements are useful
            # (docs/performance.md).
            "server_side_binding": True,
        },
        "DISABLE_SERVER_SIDE_CURSORS": PREPARED_STATEMENTS is False,
    }
}

# --- Redis: REDIS_URL, or the embedded server: broker, rate limits, caches ----------------------------------
REDIS_URL = env.redis("REDIS_URL") or addresses.redis_url(STATE_DIR)
if not (is_set("DATABASE_URL") and is_set("REDIS_URL")):
    env.writable("STATE_DIR", STATE_DIR)
# The prefix of each key, so that several installations, or test runs, can share one Redis.
REDIS_PREFIX = env.text("REDIS_PREFIX", "skerry:")
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": f"{REDIS_PREFIX}cache",
    }
}

# OAuth's implicit flow: tokens in a redirect's address, for old public clients (docs/signing-in.md explains the
# risks).
OAUTH_IMPLICIT = env.flag("OAUTH_IMPLICIT")
OAUTH2_PROVIDER_APPLICATION_MODEL = "accounts.OAuthClient"
OAUTH2_PROVIDER_GRANT_MODEL = "accounts.OAuthGrant"
OAUTH2_PROVIDER_ACCESS_TOKEN_MODEL = "accounts.OAuthAccessToken"
OAUTH2_PROVIDER_REFRESH_TOKEN_MODEL = "accounts.OAuthRefreshToken"
OAUTH2_PROVIDER_ID_TOKEN_MODEL = "accounts.OAuthIDToken"
OAUTH2_PROVIDER = {
    "SCOPES_BACKEND_CLASS": "accounts.oauth.scopes.ContractScopes",
    "OAUTH2_SERVER_CLASS": "accounts.oauth.server.Server",
    "OAUTH2_VALIDATOR_CLASS": "accounts.oauth.validator.Validator",
    "CLIENT_ID_GENERATOR_CLASS": "accounts.oauth.generators.ClientId",
    "CLIENT_SECRET_GENERATOR_CLASS": "accounts.oauth.generators.ClientSecret",
    "CLIENT_SECRET_HASHER": "client_secret_sha256",
    "ACCESS_TOKEN_GENERATOR": "accounts.oauth.generators.token",
    "REFRESH_TOKEN_GENERATOR": "accounts.oauth.generators.token",
    "AUTHORIZATION_CODE_EXPIRE_SECONDS": 60,
    "ACCESS_TOKEN_EXPIRE_SECONDS": 7200,
    # From the end of the access token: an app that is not used for this time asks its user again.
    "REFRESH_TOKEN_EXPIRE_SECONDS": 90 * 86400,
    "ROTATE_REFRESH_TOKEN": True,
    # A refresh token that is used twice was copied: all tokens that came from it are revoked.
    "REFRESH_TOKEN_REUSE_PROTECTION": True,
    "REFRESH_TOKEN_GRACE_PERIOD_SECONDS": 0,
    "COMPLIANT_BCP_RFC9700_TOKEN_STORAGE": True,
    "COMPLIANT_BCP_RFC9700_PKCE_METHOD": True,
    "COMPLIANT_BCP_RFC9700_IMPLICIT_GRANT": not OAUTH_IMPLICIT,
    "COMPLIANT_BCP_RFC9700_PASSWORD_GRANT": True,
    "COMPLIANT_BCP_RFC9700_ACCESS_TOKEN_TRANSPORT": True,
}
# The cookies of the web pages (the API has none). TLS ends at a proxy, which always reports it in a header.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env.flag("SECURE_COOKIES", PRODUCTION)
# The number of proxies in front that append to X-Forwarded-For. Rate limits by address use the client's address.
NUM_PROXIES = env.integer("NUM_PROXIES", 0, 0, 16)
if NUM_PROXIES:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# Seconds for which browsers use only https for this host, after an answer by https. 0: the header is not sent.
SECURE_HSTS_SECONDS = env.integer("HSTS_SECONDS", 31_536_000 if urlsplit(SITE_URL).scheme == "https" else 0)
SILENCED_SYSTEM_CHECKS = [
    "security.W002", "security.W003",  # config.pages has the middleware that these look for, only for the pages
    "security.W005", "security.W021",  # other hosts below this host's name belong to others (docs/security.md)
    "security.W008",  # the proxy handles TLS and redirects to it (docs/nginx.conf)
    "oauth2_provider.W005",  # clients talk to one issuer, and accept no answer of another
    "oauth2_provider.W008",  # apps on people's own machines return to http://127.0.0.1 (RFC 8252)
]  # fmt: skip
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 11}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
# Managed monitoring: seconds between the checks of a service, the number of checks in progress in a process, and
# two lists of networks. The first are never checked, in addition to the platform's own. The second are checked
# although the rules forbid it.
PROBE_EVERY = env.integer("PROBE_EVERY", 60, 10, 3600)
PROBE_CONCURRENCY = env.integer("PROBE_CONCURRENCY", 1000, 1)
PROBE_SHARE = env.integer("PROBE_SHARE", 200, 1)  # of one account, in all processes
PROBE_FORBIDDEN = env.networks("PROBE_FORBIDDEN")
PROBE_ALLOWED = env.networks("PROBE_ALLOWED")
# The name servers that resolve the names of services, instead of the system's, and the timeout in seconds.
PROBE_NAMESERVERS = env.name_servers("PROBE_NAMESERVERS")
PROBE_DNS_TIMEOUT = env.number("PROBE_DNS_TIMEOUT", 5)
# Quotas of an account, or of a user or a domain (accounts/quotas.py). Staff can set others for single accounts.
QUOTA_USERS = env.integer("QUOTA_USERS", 200)
QUOTA_TOKENS = env.integer("QUOTA_TOKENS", 500)
QUOTA_SSH_KEYS = env.integer("QUOTA_SSH_KEYS", 200)
QUOTA_OAUTH_CLIENTS = env.integer("QUOTA_OAUTH_CLIENTS", 50)
QUOTA_TICKETS = env.integer("QUOTA_TICKETS", 100)
QUOTA_TICKET_FILES = env.integer("QUOTA_TICKET_FILES", 1000)
QUOTA_TAGS = env.integer("QUOTA_TAGS", 1000)
QUOTA_IMAGES = env.integer("QUOTA_IMAGES", 200)
QUOTA_STACKSCRIPTS = env.integer("QUOTA_STACKSCRIPTS", 200)
QUOTA_FIREWALLS = env.integer("QUOTA_FIREWALLS", 200)
QUOTA_DOMAINS = env.integer("QUOTA_DOMAINS", 1000)
QUOTA_RECORDS = env.integer("QUOTA_RECORDS", 12_000)
MANAGED_SERVICES = env.integer("MANAGED_SERVICES", 500)
MANAGED_CONTACTS = env.integer("MANAGED_CONTACTS", 100)
MANAGED_CREDENTIALS = env.integer("MANAGED_CREDENTIALS", 500)
A_CENTURY = 36_500  # days
# Days for which measurements are kept: those of single checks, and the hourly averages.
MEASUREMENTS_KEPT = timedelta(days=env.integer("MEASUREMENTS_KEPT", 2, 1, A_CENTURY))
HOURLY_MEASUREMENTS_KEPT = timedelta(days=env.integer("HOURLY_MEASUREMENTS_KEPT", 90, 1, A_CENTURY))
# Days for which events, logins and finished jobs are kept. Clients see 90 days of the first two.
EVENTS_KEPT = timedelta(days=env.integer("EVENTS_KEPT", 365, 90, A_CENTURY))
LOGINS_KEPT = timedelta(days=env.integer("LOGINS_KEPT", 365, 90, A_CENTURY))
JOBS_KEPT = timedelta(days=env.integer("JOBS_KEPT", 90, 1, A_CENTURY))
# The lifetime of an unused link that shows a token once.
TOKEN_LINK_GOOD = timedelta(hours=env.integer("TOKEN_LINK_HOURS", 24, 1, 720))
SESSION_ENGINE = "accounts.pages.session_store"  # ids are stored hashed
LOGIN_URL, LOGIN_REDIRECT_URL, LOGOUT_REDIRECT_URL = "login", "home", "signed-out"
REFERENCE_TOKEN_LIFETIME = 900  # seconds, for tokens that the pages at /docs make for trying calls out
CSRF_FAILURE_VIEW = "accounts.oauth.views.csrf_failure"
AUTHENTICATION_BACKENDS = ["accounts.pages.sessions.Backend"]
# Whether staff need a second factor for the admin, their own or the provider's.
STAFF_SECOND_FACTOR = env.flag("STAFF_SECOND_FACTOR", PRODUCTION)
# The provider that people may sign in with instead of a password, or None.
OPENID = openid.read(env, production=PRODUCTION)

MIDDLEWARE = [
    "config.web.middleware.request_id",
    "config.web.middleware.normalize_api_paths",
    "config.web.cors.EveryAnswer",
    "config.web.middleware.with_length",
    "config.web.error_pages.explain_methods",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.pages.middleware.Policies",
    "config.web.error_pages.refuse_early",  # before queries of the database, after what all answers have
    "config.pages.middleware.Session",
    "config.pages.middleware.Common",
    "config.pages.middleware.Csrf",
    "config.pages.middleware.Authentication",
    "accounts.pages.sessions.Devices",
    "config.pages.middleware.Messages",
    "accounts.pages.staff_second_factor.SecondFactorOfStaff",
    "config.pages.middleware.Clickjacking",
    "config.pages.middleware.Htmx",
]

# --- The API --------------------------------------------------------------------------------------------------
API_REVISION = "4.141.0"
SECURITY_SCHEMES = {
    "personalAccessToken": {"type": "http", "scheme": "bearer", "description": "A personal access token."},
    "oauth": {
        "type": "oauth2",
        "flows": {
            "authorizationCode": {
                "authorizationUrl": "/oauth/authorize",
                "tokenUrl": "/oauth/token",
                "refreshUrl": "/oauth/token",
                "scopes": {},  # see accounts.scopes.document
            },
        },
    },
}
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["accounts.authentication.BearerAuthentication"],
    "DEFAULT_RENDERER_CLASSES": ["config.api.parsers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["config.api.parsers.JSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "config.api.parsers.JSONOnly",
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_SCHEMA_CLASS": "config.api.schema.ResourceSchema",
    "EXCEPTION_HANDLER": "config.api.exceptions.handle",
    "UNAUTHENTICATED_USER": None,
    # The format of times, which are in UTC (TIME_ZONE), and of decimals. config/api/rendering.py writes the same.
    "DATETIME_FORMAT": "%Y-%m-%dT%H:%M:%S",
    "COERCE_DECIMAL_TO_STRING": False,
    "NUM_PROXIES": NUM_PROXIES,
}
# Requests/seconds. The first three limits apply to every request, the others to the actions that name them.
_overall = env.rate("RATE_LIMIT_OVERALL", "1600/120")
RATE_LIMITS = {
    "overall": _overall,
    # Of all users of an account together: by default four times the limit of one user.
    "account": env.rate("RATE_LIMIT_ACCOUNT", multiplied(_overall, 4)),
    "endpoint": env.rate("RATE_LIMIT_ENDPOINT", "800/60"),
    "instance_create": env.rate("RATE_LIMIT_INSTANCE_CREATE", "10/30"),
    "stats": env.rate("RATE_LIMIT_STATS", "100/60"),
    "ticket_create": env.rate("RATE_LIMIT_TICKET_CREATE", "2/60"),
    "thumbnail": env.rate("RATE_LIMIT_THUMBNAIL", "10/60"),
    # Seconds of work of each web process for an account's expensive calls, in a window (config/limits/metering.py).
    "expensive": env.rate("RATE_LIMIT_EXPENSIVE", "6/60"),
    "security_questions": env.rate("RATE_LIMIT_SECURITY_QUESTIONS", "10/60"),
    # Of an account: a stranger's slow name server occupies a thread of a web process for the whole wait.
    "domain_import": env.rate("RATE_LIMIT_DOMAIN_IMPORT", "6/60"),
    "reverse_name": env.rate("RATE_LIMIT_REVERSE_NAME", "20/60"),
    # These count attempts for a user, or from an address, whatever the token.
    "login_pause": env.rate("RATE_LIMIT_LOGIN_PAUSE", "5/60"),
    "login": env.rate("RATE_LIMIT_LOGIN", "20/3600"),
    "login_address": env.rate("RATE_LIMIT_LOGIN_ADDRESS", "100/3600"),
    "password_mail": env.rate("RATE_LIMIT_PASSWORD_MAIL", "10/3600"),
    "second_factor": env.rate("RATE_LIMIT_SECOND_FACTOR", "10/600"),
    "sms": env.rate("RATE_LIMIT_SMS", "5/3600"),
    # Tickets for consoles: a page whose instance boots requests one every few seconds.
    "console": env.rate("RATE_LIMIT_CONSOLE", "60/60"),
    # Only failures count, of a client from an address and of an address: a client without failures is never
    # limited.
    "oauth_failures": env.rate("RATE_LIMIT_OAUTH_FAILURES", "60/60"),
    "oauth_failures_address": env.rate("RATE_LIMIT_OAUTH_FAILURES_ADDRESS", "300/300"),
}
# Seconds after which the database ends the statement of a filtered list. The request is answered 400.
FILTER_TIMEOUT = env.number("FILTER_TIMEOUT", 2)
# Browsers may call from any origin, without cookies.
CORS_ALLOW_ALL_ORIGINS = True
CORS_URLS_REGEX = r"^/(v4(beta)?(/|$)|uploads/|oauth/(token|revoke)$|openapi\.)"
CORS_ALLOW_METHODS = ["HEAD", "GET", "OPTIONS", "POST", "PUT", "DELETE"]
CORS_ALLOW_HEADERS = ["Authorization", "Origin", "X-Requested-With", "Content-Type", "Accept", "X-Filter"]
CORS_PREFLIGHT_MAX_AGE = 86400
CORS_EXPOSE_HEADERS = [
    "X-OAuth-Scopes",
    "X-Accepted-OAuth-Scopes",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "Retry-After",
]
SPECTACULAR_SETTINGS = {
    "OAS_VERSION": "3.1.0",
    "TITLE": "Skerry",
    "DESCRIPTION": openapi.INTRODUCTION,
    "VERSION": API_REVISION,
    "CONTACT": openapi.CONTACT,
    "LICENSE": openapi.LICENSE,
    "SERVERS": openapi.SERVERS,
    "TAGS": [{"name": name, "description": about} for name, about in openapi.TAGS.items()],
    "SCHEMA_PATH_PREFIX": "/v4",
    "PREPROCESSING_HOOKS": ["config.api.schema.only_v4"],
    "POSTPROCESSING_HOOKS": [
        "config.api.schema.with_answers",
        "accounts.scopes.document",
        "config.api.schema.with_word",
    ],
    "COMPONENT_SPLIT_REQUEST": True,
    "COMPONENT_NO_READ_ONLY_REQUIRED": True,
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "APPEND_COMPONENTS": {"securitySchemes": SECURITY_SCHEMES},
}

# The word for an instance on the wire in place of `compute`, and its plural (config/word.py). Empty: `compute`.
API_WORD, API_WORD_PLURAL = words.checked(env.text("API_WORD"), env.text("API_WORD_PLURAL"))

ACCOUNT_CAPABILITIES = (
    "Block Storage",
    "Cloud Firewall",
    "Computes",
    "Images",
    "NodeBalancers",
    "StackScripts",
    "Vlans",
)

# The token that gives access to the metrics. Empty: nobody has access.
METRICS_TOKEN = env.text("METRICS_TOKEN").strip()
# Whether requests, jobs and calls of drivers are recorded as spans (config/processes/tracing.py).
TRACING = env.flag_with_modules(
    "TRACING",
    ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http.trace_exporter"),
    "docs/monitoring.md#traces",
)
# The operators' addresses for alarms about the platform (compute/services/alarms.py), and the webhook for them.
OPERATOR_EMAILS = env.mail_addresses("OPERATOR_EMAIL")
OPERATOR_WEBHOOK = env.address("OPERATOR_WEBHOOK")

# --- Mails and short messages -------------------------------------------------------------------------------------
# A URL such as smtp+tls://user:password@mail.example.com:587. In development, mails go to the log of the worker.
_mail = env.mail_server("EMAIL_URL")
EMAIL_BACKEND = _mail["EMAIL_BACKEND"]
EMAIL_HOST, EMAIL_PORT = _mail["EMAIL_HOST"], _mail["EMAIL_PORT"]
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _mail["EMAIL_HOST_USER"], _mail["EMAIL_HOST_PASSWORD"]
EMAIL_USE_TLS, EMAIL_USE_SSL = _mail["EMAIL_USE_TLS"], _mail["EMAIL_USE_SSL"]
EMAIL_FILE_PATH = _mail["EMAIL_FILE_PATH"]  # of file:///folder, where mails become files
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = env.sender("MAIL_FROM", "Skerry <noreply@skerry.example>")
SMS_GATEWAY = env.dotted_path("SMS_GATEWAY", "accounts.sms.none" if PRODUCTION else "accounts.sms.console")
SMS_HTTP_URL = env.address("SMS_HTTP_URL")
SMS_HTTP_METHOD = env.choice("SMS_HTTP_METHOD", "POST", ("POST", "GET", "PUT", "PATCH"))
SMS_HTTP_TYPE = env.pattern("SMS_HTTP_TYPE", "application/json", r"[\w.+-]+/[\w.+-]+(;.*)?", "a media type")
SMS_HTTP_BODY = env.text("SMS_HTTP_BODY", '{"to": "{number}", "text": "{text}"}')
SMS_HTTP_HEADERS: dict[str, str] = env.pairs("SMS_HTTP_HEADERS")
SMS_HTTP_TIMEOUT = 20
MESSAGE_ATTEMPTS = env.integer("MESSAGE_ATTEMPTS", 24, 1)  # the last of them after some 15 hours
# The pace of bodies: seconds that a body may take in any case, and bytes a second that it must reach beyond them.
BODY_TIMEOUT = env.number("BODY_TIMEOUT", 20)
BODY_RATE = env.integer("BODY_RATE", 1024, 1)
# The pace of large answers: seconds that a client may read nothing, and bytes a second that it must read.
ANSWER_TIMEOUT = env.number("ANSWER_TIMEOUT", 20)
ANSWER_RATE = env.integer("ANSWER_RATE", 4096, 1)
# Seconds that a web or stream process continues after SIGTERM, not ready for more: until a proxy has noticed.
DRAIN_SECONDS = env.number("DRAIN_SECONDS", 10 if PRODUCTION else 0, zero=True)

# The folder of tickets' attachments. Web processes share it. No web server serves it.
ATTACHMENTS_DIR = env.folder("ATTACHMENTS_DIR", STATE_DIR / "attachments")
ATTACHMENT_LIMIT = env.integer("ATTACHMENT_LIMIT", 5 * 1024**2, 1)  # bytes

# --- Jobs -----------------------------------------------------------------------------------------------------
# In seconds. A driver call must end before the task's soft limit, the task before its hard limit, and both before
# the job's lease. Otherwise two workers could work on one job.
JOB_DRIVER_TIMEOUT = env.number("JOB_DRIVER_TIMEOUT", 30)
JOB_SOFT_LIMIT = env.number("JOB_SOFT_LIMIT", 60)
JOB_HARD_LIMIT = env.number("JOB_HARD_LIMIT", 75)
JOB_LEASE = env.number("JOB_LEASE", 90)
for _shorter, _longer in pairwise(("JOB_DRIVER_TIMEOUT", "JOB_SOFT_LIMIT", "JOB_HARD_LIMIT", "JOB_LEASE")):
    if globals()[_shorter] >= globals()[_longer]:
        raise BadVariable(_longer, f"must be more than the {globals()[_shorter]:g} s of {_shorter}")
# Rows that a frozen host has locked are free when the leases of its jobs end.
TRANSACTION_IDLE_LIMIT = env.number("TRANSACTION_IDLE_LIMIT", JOB_LEASE)
# The time that a request waits for a row that another transaction has locked.
LOCK_TIMEOUT = env.number("LOCK_TIMEOUT", 5)
JOB_ATTEMPTS = env.integer("JOB_ATTEMPTS", 5, 1)
JOB_BACKOFF = env.number("JOB_BACKOFF", 1, zero=True)  # times 2, 4, 8 … up to 60
JOB_SWEEP_EVERY = env.number("JOB_SWEEP_EVERY", 1)
JOB_NOTIFY_PATIENCE = env.number("JOB_NOTIFY_PATIENCE", 4)  # before workers are notified again of a due job
JOB_HOST_SHARE = env.number("JOB_HOST_SHARE", 0.5)  # of all workers' slots, for jobs of one host: at least one
if JOB_HOST_SHARE > 1:
    raise BadVariable("JOB_HOST_SHARE", f"must be more than 0 and at most 1, not {JOB_HOST_SHARE:g}")
WATCHDOG_EVERY = env.number("WATCHDOG_EVERY", 10)
RECONCILE_EVERY = env.number("RECONCILE_EVERY", 300)  # each host is compared with the rows
MOVES_EVERY = env.number("MOVES_EVERY", 30)
MAINTENANCE_EVERY = env.number("MAINTENANCE_EVERY", 10)
BACKUPS_EVERY = env.number("BACKUPS_EVERY", 120)  # the clock looks for due backups
BACKUPS_TRIES = env.integer("BACKUPS_TRIES", 3, 1)  # of one day's automatic backup, within its window
BACKUPS_FAILED_KEPT = env.integer(
    "BACKUPS_FAILED_KEPT", 14, 0, A_CENTURY
)  # days that a failed backup can still be read

# The drivers of hosts, by the names that the hosts' rows have for them.
DRIVERS = env.dotted_paths(
    "DRIVERS",
    {"simulated": "compute.drivers.simulated.SimulatedDriver", "qemu": "compute.drivers.qemu.driver.QemuDriver"},
)
# The hypervisor of `make serve`, and the folder for the instances on this machine if they are real.
HYPERVISOR = env.choice("HYPERVISOR", "SIMULATED", ("SIMULATED", "QEMU"))
HYPERVISOR_DIR = env.folder("HYPERVISOR_DIR", STATE_DIR / "hypervisor")
DRIVER_CONNINFO = env.conninfo("DRIVER_CONNINFO")  # empty: in the platform's own database
DRIVER_SCALE = env.number("DRIVER_SCALE", 1, zero=True)  # of the simulated durations; 0 is instant
# Computes of accounts that were opened after this day (UTC) cannot connect out to mail ports. Staff can open the
# ports for an account.
MAIL_PORTS_CLOSED_AFTER = env.day("MAIL_PORTS_CLOSED_AFTER", "2019-11-05")  # None: all accounts can connect
# The names of the servers that answer for customers' domains; the first is the primary one in their SOA records.
DNS_NAMESERVERS = env.host_names("DNS_NAMESERVERS", ["ns1.skerry.example", "ns2.skerry.example"])
PLATFORM_DOMAIN = env.host_name("PLATFORM_DOMAIN", "ip.skerry.example")
# Whether a reverse name needs a forward record with its address, and the resolver and timeout (seconds) for the
# check.
RDNS_CHECK = env.flag("RDNS_CHECK")
RDNS_RESOLVER = env.dotted_path("RDNS_RESOLVER", "compute.services.networking.rdns.system_resolver")
RDNS_TIMEOUT = env.number("RDNS_TIMEOUT", 0.5)
DOMAIN_IMPORT_TIMEOUT = env.number("DOMAIN_IMPORT_TIMEOUT", 2)  # seconds, of a whole transfer
PRIVATE_NETWORK = env.private_network("PRIVATE_NETWORK", "192.168.128.0/17")  # a demo region gets a /21 of it
IPV6_RANGES = env.integer("IPV6_RANGES", 10)  # of an account in one region
NODEBALANCERS = env.integer("NODEBALANCERS", 25)  # of an account in one region
# On hosts with load balancers: the exporter's folder, HAProxy's socket for it, and the command that reloads
# HAProxy.
NODEBALANCER_DIR = env.folder("NODEBALANCER_DIR", STATE_DIR / "balancers")
NODEBALANCER_SOCKET = env.text("NODEBALANCER_SOCKET")  # empty: in that folder
# The user that HAProxy switches to when it is started as root.
NODEBALANCER_USER = env.pattern("NODEBALANCER_USER", "", r"|[a-z_][a-z0-9_-]*", "the name of a user")
NODEBALANCER_HAPROXY = env.text("NODEBALANCER_HAPROXY", "haproxy")
NODEBALANCER_RELOAD = env.command("NODEBALANCER_RELOAD", "systemctl reload haproxy")
# The folder of uploaded images until a worker has imported them. Web and workers share it. No web server serves it.
UPLOADS_DIR = env.folder("UPLOADS_DIR", STATE_DIR / "uploads")
ARCHIVES_DIR = env.folder("ARCHIVES_DIR", STATE_DIR / "archives")  # of real hosts: images and backups
# The limits of an account: simultaneous uploads, and its bytes in that folder.
UPLOADS_AT_ONCE = env.integer("UPLOADS_AT_ONCE", 4, 1)
UPLOAD_SPACE = env.integer("UPLOAD_SPACE", 20 * 1024**3, 1)
# The maximum number of a user's open consoles, and the seconds without input after which a console closes.
CONSOLES_PER_USER = env.integer("CONSOLES_PER_USER", 8, 1)
CONSOLE_IDLE = env.number("CONSOLE_IDLE", 3600)
# The pace of uploads, as for bodies.
UPLOAD_TIMEOUT = env.number("UPLOAD_TIMEOUT", 60)
UPLOAD_RATE = env.integer("UPLOAD_RATE", 64 * 1024, 1)
UPLOAD_LIMIT = env.integer("UPLOAD_LIMIT", 5 * 1024**3, 1)  # bytes of the file
UPLOAD_LIMIT_RAW = env.integer("UPLOAD_LIMIT_RAW", 6 * 1024**3, 1)  # bytes of the image in it

CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "compute.worker.sweep", "schedule": JOB_SWEEP_EVERY},
    "tell_operator": {"task": "compute.worker.tell_operator", "schedule": 15},
    "watch": {"task": "compute.worker.watch", "schedule": WATCHDOG_EVERY},
    "reconcile": {"task": "compute.worker.reconcile", "schedule": 5},
    "start_moves": {"task": "compute.worker.start_moves", "schedule": MOVES_EVERY},
    "keep_maintenance": {"task": "compute.worker.keep_maintenance", "schedule": MAINTENANCE_EVERY},
    "take_backups": {"task": "compute.worker.take_backups", "schedule": BACKUPS_EVERY},
    "expire_uploads": {"task": "compute.worker.expire_uploads", "schedule": 600},
    "keep_mail_ports": {"task": "compute.worker.keep_mail_ports", "schedule": 300},
    "sample": {"task": "compute.worker.sample", "schedule": crontab(minute="*/5")},
    "thin_samples": {"task": "compute.worker.thin_samples", "schedule": crontab(minute=17)},
    "freeze_statements": {"task": "compute.worker.freeze_statements", "schedule": 600},
    "check_thresholds": {"task": "compute.worker.check_thresholds", "schedule": 600},
    "compare_usage": {"task": "compute.worker.compare_usage", "schedule": 600},
    "send_messages": {"task": "accounts.send_messages", "schedule": 10},
    "draw_pictures": {"task": "accounts.draw_pictures", "schedule": 30},
    "probe": {"task": "managed.probe", "schedule": 2},
    "thin_measurements": {"task": "managed.thin_measurements", "schedule": crontab(minute=23)},
    "delete_old": {"task": "accounts.delete_old", "schedule": crontab(hour=3, minute=41)},
    "delete_old_jobs": {"task": "compute.worker.delete_old", "schedule": crontab(hour=3, minute=53)},
}
# The clock has a queue of its own, so that a backlog of notifications does not delay the timers.
CELERY_TASK_QUEUES = [Queue("celery"), Queue("clock")]
# The lowest priority of a queue: mails, probes and packet filters never wait behind jobs.
JOB_PRIORITY = 9
CELERY_TASK_ROUTES = {
    "compute.worker.advance": {"queue": "celery", "priority": JOB_PRIORITY},
    "compute.worker.sweep": {"queue": "clock"},
    "compute.worker.tell_operator": {"queue": "clock"},
    "compute.worker.watch": {"queue": "clock"},
    "compute.worker.watch_host": {"queue": "clock"},
    "compute.worker.reconcile": {"queue": "clock"},
    "compute.worker.start_moves": {"queue": "clock"},
    "compute.worker.keep_maintenance": {"queue": "clock"},
    "compute.worker.expire_uploads": {"queue": "clock"},
    "compute.worker.take_backups": {"queue": "clock"},
    "compute.worker.keep_mail_ports": {"queue": "clock"},
    "managed.probe": {"queue": "clock"},
}

# --- Celery ---------------------------------------------------------------------------------------------------
CELERY_BROKER_URL = addresses.broker_url(REDIS_URL)
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {
    "global_keyprefix": REDIS_PREFIX,
    # A request notifies after its commit: a broker that is down or hangs must not delay it.
    "socket_connect_timeout": 0.5,
    "socket_timeout": 1,
    "retry_on_timeout": False,
    "health_check_interval": 10,
    # Acknowledgements stay in the worker. An acknowledgement that the broker must answer can fail. Each failure
    # would reduce the number of messages that the worker may hold, until it accepted none. Notifications need not
    # be redelivered.
    "ack_emulation": False,
}
# The connection over which a worker receives messages has a long timeout: a busy broker must not make workers
# reconnect.
WORKER_BROKER_OPTIONS = {"socket_connect_timeout": 5, "socket_timeout": 5}
CELERY_WORKER_CONSUMER = "compute.worker.consumer:Consumer"
CELERY_TASK_PUBLISH_RETRY = False
# A worker without a broker waits for it without a limit.
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_CHANNEL_ERROR_RETRY = True
# A notification is acknowledged when a worker receives it. If the worker dies, the leases of its jobs expire, and
# the sweep notifies again.
CELERY_TASK_ACKS_LATE = False
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_SOFT_TIME_LIMIT = JOB_SOFT_LIMIT
CELERY_TASK_TIME_LIMIT = JOB_HARD_LIMIT
# A scheduler with its times in memory: its entries are short intervals or crontabs, and a file could break.
CELERY_BEAT_SCHEDULER = "compute.worker.heartbeats:Clock"
CELERY_BEAT_MAX_LOOP_INTERVAL = 5
CELERY_TIMEZONE = TIME_ZONE
