"""Keys: made by the admin token for anybody, and by a key that may manage keys for its own organisation."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from activities.store.api_keys import Limits, StoredKey
from activities.store.records import Scope
from worker.memory_service.answers import answer, encoded
from worker.memory_service.authority import Caller
from worker.memory_service.clock import now_ms
from worker.memory_service.errors import forbidden, invalid_request, not_found, only_admin
from worker.memory_service.service import Service
from worker.memory_service.wire import (
    KeyInfo,
    KeyListing,
    KeyQuery,
    KeyRevoked,
    MintedKey,
    MintKeyRequest,
    OrganizationLimits,
)

router = APIRouter(tags=["keys"])

_WARNING = "This key is shown once and cannot be shown again. Keep it where secrets are kept."


async def manager(request: Request) -> Caller:
    """A dependency: a caller who may manage keys."""
    caller: Caller = request.state.caller
    if "keys:manage" not in caller.rights:
        raise forbidden("keys:manage")
    return caller


async def service_of(request: Request) -> Service:
    """A dependency: the service."""
    service: Service = request.app.state.service
    return service


async def admin(caller: Annotated[Caller, Depends(manager)]) -> Caller:
    """A dependency: the admin token."""
    if not caller.is_admin:
        raise only_admin("do this")
    return caller


Manager = Annotated[Caller, Depends(manager)]
Admin = Annotated[Caller, Depends(admin)]
AtService = Annotated[Service, Depends(service_of)]


@router.get("/keys", response_model=KeyListing)
async def list_keys(caller: Manager, service: AtService, query: Annotated[KeyQuery, Query()]) -> Response:
    """The keys of an organisation, without their secrets."""
    organization_id = _organization(caller, query.organization_id)
    keys = await service.blocking(service.authority.listed, organization_id)
    return answer(encoded(KeyListing(organization_id=organization_id, keys=[key_info(key) for key in keys])))


@router.post("/keys", response_model=MintedKey, status_code=201)
async def mint_key(caller: Manager, service: AtService, request: MintKeyRequest) -> Response:
    """Make a key. It gets no scope that its maker lacks. An Idempotency-Key counts for nothing here: no secret is kept."""
    scope = Scope(_organization(caller, request.organization_id), request.user_id, request.persona_id)
    if set(request.scopes) == {"keys:manage"}:
        raise invalid_request("scopes: a key that can only make keys is of no use")
    if not caller.is_admin:
        for right in request.scopes:
            if right not in caller.rights:
                raise forbidden(right)
    text, key = await service.blocking(
        service.authority.mint, request.name, scope, request.scopes, request.expires_in_days
    )
    minted = MintedKey(
        key=text,
        id=key.id,
        prefix=key.prefix,
        scopes=list(key.scopes),
        organization_id=scope.organization_id,
        user_id=scope.user_id,
        persona_id=scope.persona_id,
        expires_at=key.expires_ms,
        warning=_WARNING,
    )
    return answer(encoded(minted), 201)


@router.delete("/keys/{key_id:path}", response_model=KeyRevoked)
async def revoke_key(caller: Manager, service: AtService, key_id: str) -> Response:
    """Close a key, at once and for good."""
    organization_id = None if caller.scope is None else caller.scope.organization_id
    revoked_at = await service.blocking(service.authority.revoke, key_id, organization_id)
    if revoked_at is None:
        raise not_found("key", key_id)
    return answer(encoded(KeyRevoked(id=key_id, revoked=True, revoked_at=revoked_at)))


@router.get("/organizations/{organization_id:path}", response_model=OrganizationLimits)
async def get_limits(_: Admin, service: AtService, organization_id: str) -> Response:
    """An organisation's own limits; what is absent is the service's."""
    limits = await service.blocking(service.authority.limits, organization_id)
    return answer(encoded(_limits(limits)))


@router.put("/organizations/{organization_id:path}", response_model=OrganizationLimits)
async def set_limits(_: Admin, service: AtService, organization_id: str, request: OrganizationLimits) -> Response:
    """Give an organisation limits of its own, in place of all it had."""
    if not 1 <= len(organization_id) <= 200:
        raise invalid_request("organizationId: must have 1 to 200 characters")
    limits = Limits(request.max_total_tokens, request.default_recall_limit, request.max_index_items)
    await service.blocking(service.authority.set_limits, organization_id, limits)
    return answer(encoded(_limits(limits)))


def key_info(key: StoredKey) -> KeyInfo:
    """A key without its secret."""
    return KeyInfo(
        id=key.id,
        name=key.name,
        prefix=key.prefix,
        scopes=list(key.scopes),
        user_id=key.scope.user_id,
        persona_id=key.scope.persona_id,
        status=key.status(now_ms()),
        created_at=key.created_ms,
        expires_at=key.expires_ms,
        last_used_at=key.last_used_ms,
        revoked_at=key.revoked_ms,
    )


def _organization(caller: Caller, named: str | None) -> str:
    if caller.scope is None:
        if named is None:
            raise invalid_request("organizationId: the admin token must say for which organization")
        return named
    if named not in (None, caller.scope.organization_id):
        raise only_admin("name another organization")
    return caller.scope.organization_id


def _limits(limits: Limits) -> OrganizationLimits:
    return OrganizationLimits(
        max_total_tokens=limits.max_total_tokens,
        default_recall_limit=limits.default_recall_limit,
        max_index_items=limits.max_index_items,
    )
