"""Calls of an OpenAI-compatible endpoint: TLS, key, time limits, retries, errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from threadkeep.errors import MisconfiguredError, ModelError, ModelThrottledError

if TYPE_CHECKING:
    import urllib3

type ReadSecret = Callable[[str], str]

_CONNECT_SECONDS = 5.0
_RETRIES = 2
_RETRIED_STATUSES = (429, 500, 502, 503, 504)
_LONGEST_RETRY_AFTER_SECONDS = 10
_SECRET_SECONDS = 300


class OpenAiEndpoint:
    """One base URL with its key.

    The key is read from Secrets Manager with the first call and kept for five minutes. It appears
    in no error: messages are made here, never from what the endpoint or the HTTP library says.

    Args:
        base_url: Up to and with ``/v1``, without a slash at the end.
        key_secret: Secrets Manager id of the key, which is the secret's string or its member
            ``api_key``; empty for an endpoint that wants none.
        backoff_seconds: Longest wait before the first retry; it doubles with each.
        read_secret: Returns a secret's string.
    """

    def __init__(
        self,
        base_url: str,
        key_secret: str = "",
        *,
        backoff_seconds: float = 0.5,
        read_secret: ReadSecret | None = None,
    ) -> None:
        self._base_url = base_url
        self._key_secret = key_secret
        self._backoff_seconds = backoff_seconds
        self._read_secret = read_secret or _read_secret

    def post(
        self, path: str, body: dict[str, Any], *, model_id: str, timeout_seconds: float
    ) -> dict[str, Any]:
        """Post JSON and return the JSON object that comes back.

        Statuses 429 and 5xx and failed connections are tried again with jitter; an answer that did
        not come in time is not, for its time is used up.

        Raises:
            ModelThrottledError: The endpoint still limits the rate after the last try.
            ModelError: The call failed; ``retryable`` tells whether a later one may succeed.
            MisconfiguredError: The key can not be read.
        """
        import urllib3

        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key_secret:
            headers["Authorization"] = f"Bearer {self._key()}"
        try:
            response = self._pool.request(
                "POST",
                f"{self._base_url}{path}",
                body=json.dumps(body).encode(),
                headers=headers,
                timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, total=timeout_seconds),
                redirect=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise ModelError(
                f"{model_id} can not be reached ({type(_cause(error)).__name__})",
                extra={"retryable": True},
            ) from None  # the library's message holds the whole request
        if response.status != 200:
            raise _refusal(response.status, _error_text(response.data), model_id)
        try:
            answer = json.loads(response.data)
        except ValueError:
            raise unusable(model_id, "no JSON") from None
        if not isinstance(answer, dict):
            raise unusable(model_id, "JSON that is no object")
        return answer

    @cached_property
    def _pool(self) -> urllib3.PoolManager:
        import urllib3

        retry = urllib3.Retry(
            total=_RETRIES,
            read=0,
            other=0,
            allowed_methods=None,
            status_forcelist=_RETRIED_STATUSES,
            raise_on_status=False,
            backoff_factor=self._backoff_seconds,
            backoff_jitter=self._backoff_seconds,
            backoff_max=_LONGEST_RETRY_AFTER_SECONDS,
            retry_after_max=_LONGEST_RETRY_AFTER_SECONDS,
        )
        return urllib3.PoolManager(retries=retry, maxsize=16)

    def _key(self) -> str:
        try:
            secret = self._read_secret(self._key_secret)
        except Exception as error:
            # Whatever library reads it: its error may quote the secret's name or value.
            raise MisconfiguredError(
                f"OPENAI_API_KEY_SECRET can not be read ({type(error).__name__})",
                extra={"setting": "OPENAI_API_KEY_SECRET"},
            ) from None
        key = _member(secret, "api_key").strip()
        if not key or not key.isascii() or not key.isprintable():
            raise MisconfiguredError(
                "OPENAI_API_KEY_SECRET holds no key", extra={"setting": "OPENAI_API_KEY_SECRET"}
            )
        return key


def unusable(model_id: str, what: str) -> ModelError:
    """Return the error for an answer that is not what the API promises."""
    return ModelError(f"{model_id} answered {what}", extra={"retryable": True})


def _read_secret(secret_id: str) -> str:
    from aws_lambda_powertools.utilities.parameters import get_secret

    return str(get_secret(secret_id, max_age=_SECRET_SECONDS))


def _member(secret: str, name: str) -> str:
    try:
        value = json.loads(secret)
    except ValueError:
        return secret
    return str(value.get(name, "")) if isinstance(value, dict) else secret


def _cause(error: urllib3.exceptions.HTTPError) -> BaseException:
    return getattr(error, "reason", None) or error


def _error_text(data: bytes) -> str:
    """Return the endpoint's own error code and parameter, for telling refusals apart."""
    try:
        error = json.loads(data)["error"]
        return f"{error.get('code')} {error.get('param')} {error.get('message')}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""


def _refusal(status: int, text: str, model_id: str) -> ModelError:
    if status == 429 and "insufficient_quota" not in text:
        return ModelThrottledError(
            f"{model_id} is throttled", extra={"retryable": True}, retry_after=5
        )
    return RefusedError(
        f"{model_id} failed (HTTP {status})",
        extra={"retryable": status in _RETRIED_STATUSES and status != 429},
        text=text,
    )


class RefusedError(ModelError):
    """The endpoint refused the call; ``text`` is its own reason, which is not shown to callers."""

    def __init__(self, detail: str, *, extra: dict[str, Any], text: str) -> None:
        super().__init__(detail, extra=extra)
        self.text = text
