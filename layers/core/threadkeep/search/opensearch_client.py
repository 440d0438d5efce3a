"""The connection to OpenSearch, and what its failures mean."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from opensearchpy import OpenSearch, Urllib3AWSV4SignerAuth, Urllib3HttpConnection
from opensearchpy.exceptions import TransportError
from urllib3 import Timeout

from threadkeep.errors import MisconfiguredError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

RETRY_AFTER_SECONDS = 5
_CONNECT_SECONDS = 1.0
_READ_SECONDS = 10.0
_CONNECTIONS = 16
_SIGNED_HOSTS = (".amazonaws.com", ".on.aws")
# Wrong credentials, no such index, and too many requests are as good as no answer.
_NO_ANSWER = frozenset({401, 403, 404, 429})


def connect(url: str) -> OpenSearch:
    """Return a client of the server at an address.

    Requests to a managed domain are signed (SigV4) with the credentials of the environment; any
    other server takes what the address holds.

    Raises:
        MisconfiguredError: The address is none, or of a collection of OpenSearch Serverless, which
            has neither document versions nor the engine that the mapping names.
    """
    host = urlsplit(url).hostname
    if host is None or not url.startswith(("http://", "https://")):
        raise _misconfigured(f"OPENSEARCH_URL {url!r} is no http(s) address")
    if host.endswith(".aoss.amazonaws.com"):
        raise _misconfigured(
            "OPENSEARCH_URL names a collection of OpenSearch Serverless, which keeps no document"
            " versions: name a domain"
        )
    signed = {"http_auth": _signer()} if host.endswith(_SIGNED_HOSTS) else {}
    return OpenSearch(
        url,
        **signed,
        connection_class=Urllib3HttpConnection,
        pool_maxsize=_CONNECTIONS,
        timeout=Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS),
        max_retries=1,
        retry_on_timeout=False,
        http_compress=True,
    )


@contextmanager
def answering() -> Iterator[None]:
    """Turn the failures of a server that is out, busy or not set up into one.

    What the server refuses because the request is wrong passes through: it is a fault of ours.

    Raises:
        UnavailableError: No answer (``search_unavailable``).
    """
    try:
        yield
    except TransportError as error:
        status = error.status_code
        if isinstance(status, int) and status < 500 and status not in _NO_ANSWER:
            raise
        raise UnavailableError(
            "The search engine does not answer.",
            code="search_unavailable",
            retry_after=RETRY_AFTER_SECONDS,
        ) from error


def _signer() -> Any:
    import boto3

    session = boto3.Session()
    return Urllib3AWSV4SignerAuth(session.get_credentials(), session.region_name)


def _misconfigured(complaint: str) -> MisconfiguredError:
    return MisconfiguredError(complaint, extra={"setting": "OPENSEARCH_URL"})
