"""The page for people: what is remembered, why it was shown, and what waits for a decision.

It works without JavaScript. The key that a person enters stays in a cookie that no script can read and no other site sends;
every form carries a word that only a holder of the key can make.
"""

import hashlib
import hmac
from collections.abc import Callable
from typing import Annotated
from urllib.parse import parse_qsl, urlsplit

from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse, Response

from activities.memory_service import Change, Reply
from memory_engine import CognitiveMemory
from worker.memory_service.authority import Caller
from worker.memory_service.errors import ApiError, forbidden, invalid_request, not_found, only_admin, unauthorized
from worker.memory_service.page_view import STYLE, gathered, rendered
from worker.memory_service.routes.keys import service_of
from worker.memory_service.routes.tensions import resolved
from worker.memory_service.screening import screen
from worker.memory_service.service import Service
from worker.memory_service.wire import ResolveTensionRequest

router = APIRouter(include_in_schema=False)

COOKIE = "turnhold_key"
_COOKIE_SECONDS = 12 * 60 * 60
_MOST_FIELDS = 10
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    # Under a stricter policy browsers hide from the forms below where they come from.
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}

AtService = Annotated[Service, Depends(service_of)]


@router.get("/")
async def show(request: Request, service: AtService, q: str = "") -> Response:
    """The page of the memory that the cookie's key opens; without one, a form that asks for it."""
    try:
        caller = await _caller(request, service)
    except ApiError as error:
        return refused(error) if error.status == 429 else _html("login.html", trouble="")
    view = await gathered(service, caller, q[:2_000])
    return _html("memory.html", view=view, csrf=form_word(request.cookies[COOKIE]))


@router.get("/page.css")
async def style() -> Response:
    """The look of the page."""
    return Response(STYLE, media_type="text/css", headers={"Cache-Control": "max-age=300"})


@router.get("/docs")
async def api_page(request: Request) -> Response:
    """The OpenAPI document for people."""
    return _html("api.html", document=request.app.openapi())


@router.post("/login")
async def log_in(request: Request, service: AtService) -> Response:
    """Keep a key in the cookie, if it opens something."""
    _refuse_other_sites(request)
    key = _fields(request).get("key", "").strip()
    try:
        caller = await service.blocking(service.authority.identify, key[:1_000])
    except ApiError:
        return _html("login.html", 401, trouble="This key opens nothing here.")
    if caller.is_admin:
        return _html("login.html", 401, trouble="The admin token opens no memory: mint a key with it.")
    response = _back()
    response.set_cookie(
        COOKIE,
        key,
        max_age=_COOKIE_SECONDS,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response


@router.post("/logout")
async def log_out(request: Request, service: AtService) -> Response:
    """Forget the key."""
    await _form(request, service)
    response = _back()
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


@router.post("/page/resolve")
async def resolve(request: Request, service: AtService) -> Response:
    """Decide a contradiction."""
    caller, fields = await _form(request, service)
    decision = fields.get("decision", "").strip()[:1_000]
    if not decision:
        raise invalid_request("decision: say what holds")
    screen({"decision": decision})

    def work(engine: CognitiveMemory, now_ms: int) -> Reply:
        resolved(engine, fields.get("id", ""), ResolveTensionRequest(resolved_by="user", pattern=decision), now_ms)
        return Reply(200, "")

    return await _write(service, caller, work)


@router.post("/page/forget")
async def forget(request: Request, service: AtService) -> Response:
    """Forget a memory."""
    caller, fields = await _form(request, service)
    memory_id = fields.get("id", "")

    def work(engine: CognitiveMemory, now_ms: int) -> Reply:
        if not engine.remove_memory(memory_id):
            raise not_found("memory", memory_id)
        return Reply(200, "", removed=(memory_id,))

    return await _write(service, caller, work)


@router.post("/page/revoke")
async def revoke(request: Request, service: AtService) -> Response:
    """Close a key of the organisation."""
    caller, fields = await _form(request, service)
    if caller.scope is None or "keys:manage" not in caller.rights:
        raise forbidden("keys:manage")
    key_id = fields.get("id", "")
    if await service.blocking(service.authority.revoke, key_id, caller.scope.organization_id) is None:
        raise not_found("key", key_id)
    return _back()


def refused(error: ApiError) -> Response:
    """What a person reads who sent a form in vain."""
    return _html("refused.html", error.status, issues=error.body.issues or [error.body.message])


def form_word(key: str) -> str:
    """What every form of a key's holder carries. Another site cannot know it, and it does not tell the key."""
    return hmac.new(key.encode(), b"turnhold memory page: forms", hashlib.sha256).hexdigest()


async def _caller(request: Request, service: Service) -> Caller:
    key = request.cookies.get(COOKIE, "")[:1_000]
    caller = service.authority.known(key)
    if caller is None:
        caller = await service.blocking(service.authority.identify, key)
    if caller.is_admin:
        raise unauthorized()
    service.rates.spend(caller.id)
    request.state.caller = caller
    return caller


async def _form(request: Request, service: Service) -> tuple[Caller, dict[str, str]]:
    """Who sent a form of ours, and its fields.

    Raises:
        ApiError: 401 without a valid key, 403 for a form that is not ours.
    """
    _refuse_other_sites(request)
    caller = await _caller(request, service)
    fields = _fields(request)
    if not hmac.compare_digest(fields.get("csrf", "").encode(), form_word(request.cookies[COOKIE]).encode()):
        raise only_admin("send a form from elsewhere")
    return caller, fields


def _fields(request: Request) -> dict[str, str]:
    try:
        return dict(parse_qsl(request.state.body.decode(), max_num_fields=_MOST_FIELDS, keep_blank_values=True))
    except ValueError:
        raise invalid_request("body: is no form") from None


def _refuse_other_sites(request: Request) -> None:
    """Browsers say where a form comes from; other programs have no cookies to steal."""
    origin = request.headers.get("origin")
    is_other = origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    if is_other or request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise only_admin("send a form from another site")


async def _write(service: Service, caller: Caller, work: Callable[[CognitiveMemory, int], Reply]) -> Response:
    if caller.scope is None or "memories:write" not in caller.rights:
        raise forbidden("memories:write")
    await service.writers.submit(caller.scope, Change(work))
    service.plans.forget(caller.scope)
    return _back()


def _back() -> Response:
    return RedirectResponse("/", 303, headers=_HEADERS)


def _html(template: str, status: int = 200, **given: object) -> Response:
    return Response(rendered(template, given), status, media_type="text/html", headers=_HEADERS)
