"""Secrets do not survive in text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.domain.redaction import MARK, redact

ACCESS_KEY = "AKIAIOSFODNN7EXAMPLE"
SECRETS = [
    ACCESS_KEY,
    "sk-proj-abcdefghijklmnopqrstuv",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "xoxb-123456789012-abcdefghijkl",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    ("before", "after"), [("", ""), ("密钥", "是"), ("キーは", "です"), ("(", ")")]
)
def test_a_secret_is_redacted_whatever_stands_beside_it(
    secret: str, before: str, after: str
) -> None:
    """T63: word boundaries do not exist beside Chinese and Japanese characters."""
    assert redact(f"{before}{secret}{after}") == f"{before}{MARK}{after}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("my password is hunter2.", f"my password is {MARK}."),
        ("password for github is x9!k, ok?", f"password for github is {MARK}, ok?"),
        ("我的密码是hunter2，别告诉别人", f"我的密码是{MARK}，别告诉别人"),
        ('{"password": "correct horse"}', f'{{"password": "{MARK}"}}'),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtn/FEMI", f"AWS_SECRET_ACCESS_KEY={MARK}"),
        ("postgres://u:p4ss@host/db", f"postgres://u:{MARK}@host/db"),
        ("Authorization: Bearer abcdefghijklmnop1234", f"Authorization: Bearer {MARK}"),
        ("the PIN is 4821", f"the PIN is {MARK}"),
    ],
)
def test_what_follows_a_label_is_redacted_and_the_sentence_stays(text: str, expected: str) -> None:
    assert redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "my password is too short",
        "the password is required",
        "my pin is sharp",
        "I like secret gardens",
        "the api keys of all teams were rotated",
        "sketchy tasks, asking skiers",
        "密码学很有趣",
    ],
)
def test_talk_about_secrets_is_none(text: str) -> None:
    assert redact(text) == text


@given(st.text(), st.sampled_from(SECRETS), st.text())
def test_no_text_around_a_secret_lets_it_through_and_twice_changes_nothing(
    before: str, secret: str, after: str
) -> None:
    # Letters and digits that continue a key make another word of it
    text = f"{before} {secret} {after}"
    redacted = redact(text)
    assert secret not in redacted
    assert redact(redacted) == redacted
