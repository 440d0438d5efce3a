"""Verifying tokens: only the issuer's own, unexpired id tokens for this client count."""

from __future__ import annotations

import base64
import json
from datetime import timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.fakes.clock import FakeClock
from threadkeep.errors import UnauthorizedError, UnavailableError
from threadkeep.http.callers import caller_from_claims
from threadkeep.http.tokens import TokenVerifier

ISSUER, CLIENT, JWKS = "https://issuer.test/pool", "client-1", "https://issuer.test/keys"


class Issuer:
    """Signs tokens, and publishes its keys.

    Attributes:
        published: Keys by id.
        fetches: How often the keys were read.
        is_down: Whether reading fails.
    """

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.keys: dict[str, rsa.RSAPrivateKey] = {}
        self.published: list[dict[str, Any]] = []
        self.fetches = 0
        self.is_down = False
        self.add("k1")

    def add(self, kid: str) -> None:
        """Make a key and publish it."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        public = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
        self.keys[kid] = key
        self.published.append({**public, "kid": kid, "use": "sig", "alg": "RS256"})

    def fetch(self, url: str) -> bytes:
        """Serve the published keys."""
        assert url == JWKS
        self.fetches += 1
        if self.is_down:
            raise OSError("no route")
        return json.dumps({"keys": self.published}).encode()

    def claims(self, **changes: Any) -> dict[str, Any]:
        """Return good claims with changes; None leaves one out."""
        now = int(self.clock.now().timestamp())
        good = {
            "sub": "u1",
            "iss": ISSUER,
            "aud": CLIENT,
            "token_use": "id",
            "iat": now,
            "exp": now + 3600,
            "cognito:groups": ["admin"],
        }
        return {k: v for k, v in {**good, **changes}.items() if v is not None}

    def header(self, kid: str = "k1", **changes: Any) -> str:
        """Return a signed ``Authorization`` header."""
        token = jwt.encode(
            self.claims(**changes), self.keys[kid], algorithm="RS256", headers={"kid": kid}
        )
        return f"Bearer {token}"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def issuer(clock: FakeClock) -> Issuer:
    return Issuer(clock)


@pytest.fixture
def verifier(issuer: Issuer, clock: FakeClock) -> TokenVerifier:
    return TokenVerifier(ISSUER, CLIENT, JWKS, clock, issuer.fetch)


def test_good_token_names_its_user_and_groups(issuer: Issuer, verifier: TokenVerifier) -> None:
    # when
    caller = caller_from_claims(verifier.claims(issuer.header()))
    # then
    assert caller is not None
    assert (caller.user_id, caller.is_admin) == ("u1", True)


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://other.test"},
        {"iss": None},
        {"aud": "client-2"},
        {"aud": None},
        {"token_use": "access"},
        {"token_use": None},
        {"exp": None},
        {"sub": None},
        {"sub": 7},
    ],
)
def test_token_for_something_else_is_refused(
    issuer: Issuer, verifier: TokenVerifier, changes: dict[str, Any]
) -> None:
    with pytest.raises(UnauthorizedError):
        verifier.claims(issuer.header(**changes))


def test_token_is_refused_from_the_very_second_it_expires(
    issuer: Issuer, verifier: TokenVerifier, clock: FakeClock
) -> None:
    # given
    header = issuer.header()
    # when
    clock.advance(seconds=3599)
    verifier.claims(header)
    clock.advance(seconds=1)
    # then
    with pytest.raises(UnauthorizedError):
        verifier.claims(header)


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Bearer x.y.z", "Basic dTpw", "nonsense"]
)
def test_no_token_is_no_user(verifier: TokenVerifier, header: str | None) -> None:
    with pytest.raises(UnauthorizedError):
        verifier.claims(header)


def test_token_signed_by_someone_else_is_refused(issuer: Issuer, verifier: TokenVerifier) -> None:
    # given: another key under the published id
    forged = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    token = jwt.encode(issuer.claims(), forged, algorithm="RS256", headers={"kid": "k1"})
    # then
    with pytest.raises(UnauthorizedError):
        verifier.claims(f"Bearer {token}")


def test_other_algorithms_are_refused(issuer: Issuer, verifier: TokenVerifier) -> None:
    # given: no signature, and the public key used as a shared secret
    unsigned = jwt.encode(issuer.claims(), "", algorithm="none", headers={"kid": "k1"})
    modulus = issuer.published[0]["n"]
    shared = jwt.encode(issuer.claims(), modulus, algorithm="HS256", headers={"kid": "k1"})
    # then
    for token in (unsigned, shared):
        with pytest.raises(UnauthorizedError):
            verifier.claims(f"Bearer {token}")


def test_changed_payload_is_refused(issuer: Issuer, verifier: TokenVerifier) -> None:
    # given
    head, _, signature = issuer.header().split(".")
    payload = base64.urlsafe_b64encode(json.dumps(issuer.claims(sub="victim")).encode())
    # then
    with pytest.raises(UnauthorizedError):
        verifier.claims(f"{head}.{payload.rstrip(b'=').decode()}.{signature}")


def test_keys_are_read_once(issuer: Issuer, verifier: TokenVerifier) -> None:
    # when
    for _ in range(3):
        verifier.claims(issuer.header())
    # then
    assert issuer.fetches == 1


def test_new_key_is_found_and_unknown_ones_cost_one_read_a_minute(
    issuer: Issuer, verifier: TokenVerifier, clock: FakeClock
) -> None:
    # given
    verifier.claims(issuer.header())
    issuer.add("k2")
    # when: within the minute the new key is not looked for
    for _ in range(5):
        with pytest.raises(UnauthorizedError):
            verifier.claims(issuer.header("k2"))
    assert issuer.fetches == 1
    clock.advance(minutes=1)
    # then
    assert verifier.claims(issuer.header("k2"))["sub"] == "u1"
    assert verifier.claims(issuer.header("k1"))["sub"] == "u1"
    assert issuer.fetches == 2


def test_issuer_that_is_down_is_a_503_and_asked_again(
    issuer: Issuer, verifier: TokenVerifier, clock: FakeClock
) -> None:
    # given
    issuer.is_down = True
    with pytest.raises(UnavailableError):
        verifier.claims(issuer.header())
    # when
    issuer.is_down = False
    # then
    assert verifier.claims(issuer.header())["sub"] == "u1"


def test_known_keys_outlive_the_issuers_outage(
    issuer: Issuer, verifier: TokenVerifier, clock: FakeClock
) -> None:
    # given
    verifier.claims(issuer.header())
    issuer.is_down = True
    clock.advance(minutes=5)
    # then
    assert verifier.claims(issuer.header())["sub"] == "u1"
    clock.advance(seconds=timedelta(minutes=1).total_seconds())
    assert verifier.claims(issuer.header())["sub"] == "u1"
