"""The console over HTTP: one page for every path of the app, its hashed assets, its settings."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

STATIC = Path(__file__).parent / "static"
FILES = "/app/"  # the base of the build, see console/vite.config.ts
ASSETS = FILES + "assets/"  # names there hold a hash of the content
CONFIG = FILES + "config.json"
PAGES = ("/app", "/memories", "/site-settings", "/callback")
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
REVALIDATE = "no-cache"
FOREVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class File:
    """What a path shows; text, as the gateway passes on nothing else."""

    text: str
    content_type: str
    cache_control: str

    @property
    def etag(self) -> str:
        """Strong tag of the content."""
        return f'"{sha256(self.text.encode()).hexdigest()[:32]}"'


def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer a GET or HEAD that API Gateway hands on."""
    file = find(event["path"])
    if file is None:
        return _not_found(event)
    headers = {
        **security_headers(),
        "cache-control": file.cache_control,
        "content-type": file.content_type,
        "etag": file.etag,
    }
    if _is_known(event.get("headers") or {}, file.etag):
        del headers["content-type"]
        return _answer(304, headers)
    return _answer(200, headers, "" if event["httpMethod"] == "HEAD" else file.text)


def find(path: str) -> File | None:
    """Return what a path shows: a file, the settings, or the app's page; None for no such file."""
    if path == CONFIG:
        return File(json.dumps(settings()), TYPES[".json"], REVALIDATE)
    file = built_files().get(path)
    if file or path.startswith(ASSETS) or Path(path).suffix in TYPES:
        return file
    is_page = any(path == page or path.startswith(f"{page}/") for page in PAGES)
    return built_files().get(FILES + "index.html") if is_page else None


@cache
def built_files() -> Mapping[str, File]:
    """Return all files of the build by path, read once; no other file can be asked for."""
    files = {}
    for path in STATIC.rglob("*"):
        if path.suffix in TYPES:
            url = FILES + path.relative_to(STATIC).as_posix()
            cache_control = FOREVER if url.startswith(ASSETS) else REVALIDATE
            files[url] = File(path.read_text("utf-8"), TYPES[path.suffix], cache_control)
    return files


def settings() -> dict[str, str]:
    """Return what the app needs to know of its deployment; nothing of it is secret."""
    return {
        "issuer": os.environ["JWT_ISSUER"],
        "client_id": os.environ["USER_POOL_CLIENT_ID"],
        "hosted_ui_url": os.environ["HOSTED_UI_URL"],
        "origin": os.environ["CONSOLE_ORIGIN"],
    }


def security_headers() -> dict[str, str]:
    """Return the headers of every answer: only own files run, only API and sign-in are called."""
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        f"connect-src 'self' {os.environ['HOSTED_UI_URL']}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
    return {
        "content-security-policy": policy,
        "cross-origin-opener-policy": "same-origin",
        "referrer-policy": "no-referrer",  # the address of /callback holds the sign-in code
        "strict-transport-security": "max-age=31536000",
        "x-content-type-options": "nosniff",
    }


def _is_known(headers: Mapping[str, str], etag: str) -> bool:
    """Tell whether ``If-None-Match`` names a tag (RFC 9110, section 13.1.2: weakly compared)."""
    sent = next((value for name, value in headers.items() if name.lower() == "if-none-match"), "")
    tags = [tag.strip().removeprefix("W/") for tag in sent.split(",")]
    return etag in tags or "*" in tags


def _not_found(event: Mapping[str, Any]) -> dict[str, Any]:
    # What the HTTP layer would answer; without that layer this function starts in no time.
    problem = {
        "type": "urn:threadkeep:problem:not_found",
        "title": "Not found",
        "status": 404,
        "detail": "No such file.",
        "code": "not_found",
        "request_id": event["requestContext"]["requestId"],
    }
    headers = {"cache-control": "no-store", "content-type": "application/problem+json"}
    body = "" if event["httpMethod"] == "HEAD" else json.dumps(problem)
    return _answer(404, {**security_headers(), **headers}, body)


def _answer(status: int, headers: Mapping[str, str], body: str = "") -> dict[str, Any]:
    return {"statusCode": status, "headers": headers, "body": body, "isBase64Encoded": False}
