"""Who calls: keys are made, recognised and closed here."""

import hmac
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from pydantic import SecretStr

from activities.store.api_keys import ApiKeyStore, Limits, StoredKey
from activities.store.errors import Collision, StoreError
from activities.store.records import Scope
from memory_engine import Scope as Right
from worker.memory_service.clock import now_ms
from worker.memory_service.errors import unauthorized
from worker.memory_service.keys import digest, is_secret, make_key, split_key

ADMIN = "admin"
KNOWN_SECONDS = 1.0
"""How long a key that was looked up is taken for valid: as long may it open something that another process has closed."""
_USE_NOTED_MS = 60_000
_MOST_NOTED = 10_000
_TRIES = 3
_DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody with a valid key, or with the admin token. `id` is the key's id, and safe to log.

    `scope` is the memory the key opens; the admin token opens none.
    """

    id: str
    scope: Scope | None
    rights: frozenset[str]
    limits: Limits

    @property
    def is_admin(self) -> bool:
        """Whether it is the admin token."""
        return self.scope is None


_NOBODY: tuple[None, float] = (None, 0.0)


class Authority:
    """Keys and the admin token. Blocking; safe to share between threads."""

    def __init__(self, keys: ApiKeyStore, admin_token: SecretStr | None, environment: str) -> None:
        self._keys = keys
        self._admin_digest = None if admin_token is None else digest(admin_token.get_secret_value())
        self._environment = environment
        self._noted: dict[str, int] = {}
        self._known: dict[str, tuple[Caller, float]] = {}
        self._revocations = 0

    @property
    def has_admin(self) -> bool:
        """Whether anybody can make a first key."""
        return self._admin_digest is not None

    def known(self, token: str) -> Caller | None:
        """Whose token it is, if that was found out within the last second. Does not block."""
        caller, until = self._known.get(digest(token), _NOBODY)
        return caller if time.monotonic() < until else None

    def identify(self, token: str) -> Caller:
        """Whose token it is.

        Raises:
            ApiError: 401, the same whatever is wrong.
        """
        if self._admin_digest is not None and hmac.compare_digest(digest(token), self._admin_digest):
            return Caller(ADMIN, None, frozenset({"keys:manage"}), Limits())
        parts = split_key(token)
        if parts is None:
            raise unauthorized()
        revocations = self._revocations
        prefix, secret = parts
        found = self._keys.find(prefix)
        is_right = is_secret(secret, found[0].secret_sha256 if found else None)
        at_ms = now_ms()
        if found is None or not is_right or found[0].status(at_ms) != "active":
            raise unauthorized()
        key, limits = found
        self._note_use(key, at_ms)
        caller = Caller(key.id, key.scope, frozenset(key.scopes), limits)
        if revocations == self._revocations:
            self._remember(digest(token), caller)
        return caller

    def _remember(self, token_digest: str, caller: Caller) -> None:
        if len(self._known) >= _MOST_NOTED:
            self._known.clear()
        self._known[token_digest] = caller, time.monotonic() + KNOWN_SECONDS

    def _forget_all(self) -> None:
        # Counted first: a key that is being looked up at this moment is not remembered.
        self._revocations += 1
        self._known.clear()

    def _note_use(self, key: StoredKey, at_ms: int) -> None:
        """Once a minute is enough for people who ask which keys are in use, and it must not cost a request."""
        noted_ms = max(key.last_used_ms or 0, self._noted.get(key.id, 0))
        if at_ms - noted_ms <= _USE_NOTED_MS:
            return
        if len(self._noted) > _MOST_NOTED:
            self._noted.clear()
        self._noted[key.id] = at_ms
        with suppress(StoreError):
            self._keys.note_use(key.id, at_ms)

    def mint(self, name: str, scope: Scope, rights: Sequence[Right], days: int | None) -> tuple[str, StoredKey]:
        """A new key: its whole text, which is not kept, and the rest of it."""
        for attempt in range(_TRIES):
            made = make_key(self._environment)
            at_ms = now_ms()
            key = StoredKey(
                id=f"key_{uuid.uuid4().hex}",
                prefix=made.prefix,
                secret_sha256=made.secret_sha256,
                name=name,
                scope=scope,
                scopes=tuple(dict.fromkeys(rights)),
                created_ms=at_ms,
                expires_ms=None if days is None else at_ms + days * _DAY_MS,
            )
            try:
                self._keys.add(key)
            except Collision:
                # Eight hex digits are few enough to meet twice.
                if attempt == _TRIES - 1:
                    raise
            else:
                return made.text, key
        raise AssertionError("unreachable: the last attempt returns or raises")

    def listed(self, organization_id: str) -> list[StoredKey]:
        """The keys of an organisation."""
        return self._keys.of_organization(organization_id)

    def revoke(self, key_id: str, organization_id: str | None) -> int | None:
        """Close a key: now in this process, within a second in others.

        Returns when it was closed first; None if there is none of this id, or of this organisation.
        """
        revoked_ms = self._keys.revoke(key_id, organization_id, now_ms())
        self._forget_all()
        return revoked_ms

    def limits(self, organization_id: str) -> Limits:
        """An organisation's own limits."""
        return self._keys.limits(organization_id)

    def set_limits(self, organization_id: str, limits: Limits) -> None:
        """Give an organisation limits of its own."""
        self._keys.set_limits(organization_id, limits)
        self._forget_all()
