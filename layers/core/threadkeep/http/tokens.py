"""Verifying a bearer token where a function serves HTTP itself."""

from __future__ import annotations

import json
import threading
import urllib.request
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.error import URLError

from threadkeep.errors import UnauthorizedError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import jwt

    from threadkeep.ports import Clock

REFRESH_INTERVAL = timedelta(minutes=1)
_FETCH_SECONDS = 5


class TokenVerifier:
    """Checks Cognito id tokens against the issuer's published keys.

    The keys are fetched once and kept; a token that names an unknown key makes them be fetched
    again, at most once a minute, so that keys can rotate and forged ids cost nothing.

    Args:
        issuer: The only ``iss`` accepted.
        audience: The only ``aud`` accepted.
        jwks_url: Where the keys are.
        clock: The time that expiry is judged by.
        fetch: Reads a URL; for tests.
    """

    def __init__(
        self,
        issuer: str,
        audience: str,
        jwks_url: str,
        clock: Clock,
        fetch: Callable[[str], bytes] | None = None,
    ) -> None:
        self._issuer = issuer
        self._audience = audience
        self._jwks_url = jwks_url
        self._clock = clock
        self._fetch = fetch or _read_url
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at: datetime | None = None
        self._lock = threading.Lock()

    def claims(self, authorization: str | None) -> Mapping[str, Any]:
        """Return the claims of an ``Authorization`` header's token.

        Raises:
            UnauthorizedError: There is no valid token.
            UnavailableError: The issuer's keys can not be read.
        """
        import jwt

        scheme, _, token = (authorization or "").strip().partition(" ")
        if scheme.lower() != "bearer":
            raise UnauthorizedError
        try:
            key = self._key(str(jwt.get_unverified_header(token).get("kid", "")))
            claims: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=["RS256"],
                issuer=self._issuer,
                audience=self._audience,
                options={
                    "require": ["exp", "iss", "aud", "sub", "token_use"],
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                },
            )
        except jwt.PyJWTError as error:
            raise UnauthorizedError from error
        self._check_time_and_use(claims)
        return claims

    def _check_time_and_use(self, claims: Mapping[str, Any]) -> None:
        """Judge expiry by the clock port, which PyJWT knows nothing of."""
        expires = claims["exp"]
        valid = isinstance(expires, int | float) and expires > self._clock.now().timestamp()
        if not valid or claims["token_use"] != "id":
            raise UnauthorizedError

    def _key(self, kid: str) -> jwt.PyJWK:
        with self._lock:
            now = self._clock.now()
            may_fetch = self._fetched_at is None or now - self._fetched_at >= REFRESH_INTERVAL
            if kid not in self._keys and may_fetch:
                self._keys = self._read_keys()
                self._fetched_at = now
            if kid not in self._keys:
                raise UnauthorizedError
            return self._keys[kid]

    def _read_keys(self) -> dict[str, jwt.PyJWK]:
        import jwt

        try:
            keys = jwt.PyJWKSet.from_dict(json.loads(self._fetch(self._jwks_url))).keys
        except (OSError, URLError, ValueError, jwt.PyJWTError) as error:
            raise UnavailableError("Tokens can not be verified at the moment.") from error
        return {key.key_id: key for key in keys if key.key_id}


def _read_url(url: str) -> bytes:
    with urllib.request.urlopen(
        url, timeout=_FETCH_SECONDS
    ) as response:  # the deployment's own URL
        body: bytes = response.read()
    return body
