"""What the service refuses, each with its status and tag. Every error answer is one envelope; none has internals in it."""

from collections.abc import Iterable, Mapping

from activities.memory_service import AnswerForgotten, KeyReused, Refusal
from activities.store.errors import SnapshotConflict, StoreError
from memory_engine import CognitiveMemoryErrorBody, MemoryEngineError, Scope

MOST_ISSUES = 50
_CLIP = 200


class ApiError(Refusal):
    """An answer that is no success. `headers` go with it."""

    def __init__(self, status: int, body: CognitiveMemoryErrorBody, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(body.message)
        self.status = status
        self.body = body
        self.headers = dict(headers or {})


def api_error(fault: Exception) -> ApiError:
    """How a fault is answered. What is not told on purpose is `Internal`."""
    match fault:
        case ApiError():
            return fault
        case KeyReused():
            return invalid_request(f"Idempotency-Key: {fault}")
        case AnswerForgotten() | SnapshotConflict(newer_schema=False):
            return conflict(str(fault) if isinstance(fault, AnswerForgotten) else "too many writers; try again")
        case StoreError() | MemoryEngineError():
            return storage_failure()
        case _:
            return internal()


def invalid_request(*issues: str) -> ApiError:
    """400: each issue names a field and what is wrong with it."""
    told = [issue[: 2 * _CLIP] for issue in issues[:MOST_ISSUES]]
    return _error(400, "InvalidRequest", "the request is not valid", issues=told)


def unauthorized() -> ApiError:
    """401: the same for a key that is missing, malformed, unknown, expired or revoked."""
    return _error(401, "Unauthorized", "a valid API key is needed", {"WWW-Authenticate": "Bearer"})


def forbidden(required: Scope) -> ApiError:
    """403: the key is valid, and lacks a scope."""
    return _error(403, "Forbidden", f"this key lacks the scope {required}", required_scope=required)


def only_admin(what: str) -> ApiError:
    """403 that no scope would heal."""
    return _error(403, "Forbidden", f"only the admin token may {what}")


def not_found(resource: str, resource_id: str | None = None) -> ApiError:
    """404: nothing of this id, or somebody else's; nobody can tell which."""
    shown = None if resource_id is None else resource_id[:_CLIP]
    return _error(404, "NotFound", f"there is no such {resource}", resource=resource, id=shown)


def method_not_allowed(allowed: str) -> ApiError:
    """405."""
    return _error(405, "MethodNotAllowed", "this path does not take that method", {"Allow": allowed} if allowed else {})


def request_timeout() -> ApiError:
    """408: the body did not arrive in time."""
    return _error(408, "RequestTimeout", "the request did not arrive in time", {"Connection": "close"})


def conflict(reason: str) -> ApiError:
    """409: another writer was in the way, or the answer is not there any more."""
    return _error(409, "Conflict", reason)


def full(reason: str) -> ApiError:
    """409 that no second try heals: something must be removed first."""
    return _error(409, "Full", reason)


def too_large(limit: int) -> ApiError:
    """413: the body has more bytes than are taken."""
    return _error(413, "PayloadTooLarge", f"a request has at most {limit} bytes", {"Connection": "close"})


def unsupported_media_type() -> ApiError:
    """415."""
    return _error(415, "UnsupportedMediaType", "send JSON, with Content-Type: application/json")


def rate_limited(retry_after: int) -> ApiError:
    """429; `retry_after` in seconds."""
    return _error(429, "RateLimited", "too many requests", {"Retry-After": str(retry_after)})


def storage_failure() -> ApiError:
    """500: the database or what it holds cannot be used."""
    return _error(500, "StorageFailure", "the memory cannot be read or written at the moment")


def internal() -> ApiError:
    """500: a fault of ours."""
    return _error(500, "Internal", "something went wrong here")


def model_failure(reason: str) -> ApiError:
    """502: a model was to be asked, and gave no answer. Nothing was changed."""
    return _error(502, "ModelFailure", reason)


def unavailable(reason: str) -> ApiError:
    """503."""
    return _error(503, "Unavailable", reason, {"Retry-After": "1"})


def bootstrap_disabled() -> ApiError:
    """503: nobody can make a first key."""
    return _error(
        503, "BootstrapDisabled", "no admin token is configured: set TURNHOLD_ADMIN_TOKEN to mint a first key"
    )


def _error(
    status: int,
    tag: str,
    message: str,
    headers: Mapping[str, str] | None = None,
    *,
    required_scope: str | None = None,
    resource: str | None = None,
    id: str | None = None,  # noqa: A002 - the name it has on the wire
    issues: Iterable[str] | None = None,
) -> ApiError:
    body = CognitiveMemoryErrorBody(
        error=tag,
        message=message,
        required_scope=required_scope,
        resource=resource,
        id=id,
        issues=None if issues is None else list(issues),
    )
    return ApiError(status, body, headers)
