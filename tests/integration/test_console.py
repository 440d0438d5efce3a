"""The console function: its event, the paths it serves, how long they are kept, its policy."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from functions.console import app
from threadkeep.errors import NotFoundError
from threadkeep.http.problems import problem

EVENTS = Path(__file__).parents[2] / "events"
ORIGIN = "https://memory.example.com"
HOSTED_UI = "https://threadkeep-dev-123456789012.auth.eu-central-1.amazoncognito.com"
ISSUER = "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_AbCdEfGhI"
SCRIPT = "/app/assets/index-a1B2c3D4.js"
PAGE = f'<!doctype html><script type="module" src="{SCRIPT}"></script>'
SECURITY = {
    "content-security-policy",
    "cross-origin-opener-policy",
    "referrer-policy",
    "strict-transport-security",
    "x-content-type-options",
}


@pytest.fixture(autouse=True)
def deployed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set what the template sets."""
    monkeypatch.setenv("CONSOLE_ORIGIN", ORIGIN)
    monkeypatch.setenv("HOSTED_UI_URL", HOSTED_UI)
    monkeypatch.setenv("JWT_ISSUER", ISSUER)
    monkeypatch.setenv("USER_POOL_CLIENT_ID", "4f6a8c0e2b")
    app.built_files.cache_clear()
    yield
    app.built_files.cache_clear()


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a small build in place of the real one, beside a file that is not part of it."""
    static = tmp_path / "static"
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_text(PAGE)
    (static / "favicon.svg").write_text("<svg/>")
    (static / "assets" / Path(SCRIPT).name).write_text("let naïve = 1;", "utf-8")
    (static / "assets" / "logo.png").write_bytes(b"\x89PNG")
    (tmp_path / "app.py").write_text("secret = 1")
    monkeypatch.setattr(app, "STATIC", static)
    return static


def get(path: str, *, method: str = "GET", headers: dict[str, str] | None = None) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((EVENTS / "console.json").read_text())
    event |= {"path": path, "httpMethod": method}
    event["headers"] |= headers or {}
    return app.lambda_handler(event, None)


@pytest.mark.usefixtures("build")
def test_event_gets_the_page() -> None:
    answer = app.lambda_handler(json.loads((EVENTS / "console.json").read_text()), None)
    assert (answer["statusCode"], answer["body"]) == (200, PAGE)
    assert answer["headers"]["content-type"] == "text/html; charset=utf-8"


@pytest.mark.usefixtures("build")
@pytest.mark.parametrize(
    "path",
    [
        "/app",
        "/app/",
        "/app/memories",
        "/app/agents/01JC.alice@example.com",
        "/memories",
        "/site-settings/memory",
        "/callback",
    ],
)
def test_every_path_of_the_app_shows_its_page(path: str) -> None:
    answer = get(path)
    assert (answer["statusCode"], answer["body"]) == (200, PAGE)


@pytest.mark.usefixtures("build")
@pytest.mark.parametrize(
    "path",
    [
        "/app/assets/index-00000000.js",
        "/app/assets/memories",
        "/app/missing.css",
        "/app/assets/logo.png",
        "/app/assets/../../app.py",
        "/app/assets/%2e%2e/%2e%2e/app.py",
        "/app/../app.json",
        "/app//etc/passwd.html",
        "/application",
        "/",
    ],
)
def test_what_is_no_file_of_the_build_is_not_found(path: str) -> None:
    answer = get(path)
    assert answer["statusCode"] == 404
    assert answer["headers"]["content-type"] == "application/problem+json"
    error = NotFoundError("No such file.")
    assert json.loads(answer["body"]) == problem(error, "0f0c5e7a-7b62-11e6-9a41-93e8deadbeef")
    assert answer["headers"]["cache-control"] == "no-store"


@pytest.mark.usefixtures("build")
def test_hashed_assets_are_kept_for_good_and_the_page_is_asked_for_again() -> None:
    script, page, icon = get(SCRIPT), get("/app/memories"), get("/app/favicon.svg")
    assert script["headers"]["cache-control"] == "public, max-age=31536000, immutable"
    assert script["headers"]["content-type"] == "text/javascript; charset=utf-8"
    assert icon["headers"]["content-type"] == "image/svg+xml"
    assert page["headers"]["cache-control"] == icon["headers"]["cache-control"] == "no-cache"


@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', "*"])
def test_known_content_is_not_sent_again(build: Path, form: str) -> None:
    # given
    etag = get("/app/memories")["headers"]["etag"]
    # when
    again = get("/app/memories", headers={"If-None-Match": form.format(etag)})
    # then
    assert (again["statusCode"], again["body"]) == (304, "")
    assert again["headers"]["etag"] == etag
    assert again["headers"]["cache-control"] == "no-cache"
    # and a new build is
    (build / "index.html").write_text(PAGE + "<!-- new -->")
    app.built_files.cache_clear()
    if form != "*":
        newer = get("/app/memories", headers={"if-none-match": form.format(etag)})
        assert newer["statusCode"] == 200
        assert newer["headers"]["etag"] != etag


@pytest.mark.usefixtures("build")
@pytest.mark.parametrize("path", ["/app/memories", SCRIPT, "/app/config.json", "/app/none.js"])
def test_head_says_the_same_without_the_content(path: str) -> None:
    full, head = get(path), get(path, method="HEAD")
    assert full["body"]
    assert head == {**full, "body": ""}


@pytest.mark.usefixtures("build")
def test_settings_name_the_sign_in_of_this_deployment() -> None:
    answer = get("/app/config.json")
    assert answer["headers"]["content-type"] == "application/json"
    assert answer["headers"]["cache-control"] == "no-cache"
    assert json.loads(answer["body"]) == {
        "issuer": ISSUER,
        "client_id": "4f6a8c0e2b",
        "hosted_ui_url": HOSTED_UI,
        "origin": ORIGIN,
    }


@pytest.mark.usefixtures("build")
@pytest.mark.parametrize("path", ["/app/memories", SCRIPT, "/app/config.json", "/app/none.js"])
def test_every_answer_has_the_security_headers(path: str) -> None:
    answer = get(path)
    headers = answer["headers"]
    again = get(path, headers={"If-None-Match": headers.get("etag", "")})["headers"]
    assert headers.keys() >= SECURITY
    assert again.keys() >= SECURITY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.usefixtures("build")
def test_policy_runs_own_files_and_calls_the_api_and_the_sign_in_only() -> None:
    policy = dict(
        directive.split(" ", 1)
        for directive in get("/app")["headers"]["content-security-policy"].split("; ")
    )
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["connect-src"] == f"'self' {HOSTED_UI}"


def test_real_build_is_text_and_complete() -> None:
    # Given what `npm run build` made
    files = sorted(path for path in app.STATIC.rglob("*") if path.is_file())
    assert files, "make functions/console/static/index.html builds the console"
    # Then the function serves every file of it
    assert app.built_files().keys() == {
        "/app/" + path.relative_to(app.STATIC).as_posix() for path in files
    }
    # And the page asks for nothing else, nor holds a script or style of its own
    page = get("/app")["body"]
    asked_for = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert any(path.endswith(".js") for path in asked_for)
    assert {get(path)["statusCode"] for path in asked_for} == {200}
    assert not re.search(r"<script(?![^>]* src=)|<style|\son\w+=|\sstyle=", page)
