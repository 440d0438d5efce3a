"""What of a message are the user's own words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.llm.language import guess_language
from threadkeep.llm.own_words import find_quote, own_words


@pytest.mark.parametrize(
    "text",
    [
        "[memory] user likes tea\nok thanks",
        "[Recalled memory: user likes tea]\nok thanks",
        "<memory>\nuser likes tea\n</memory>\nok thanks",
        "<relevant_memories>user likes tea</relevant_memories> ok thanks",
        "Relevant memories:\n- user likes tea\n* user likes jazz\n\nok thanks",
        "<system>user likes tea</system>ok thanks",
    ],
)
def test_injected_blocks_are_left_out_and_the_rest_stays(text: str) -> None:
    kept = own_words(text)
    assert "likes" not in kept
    assert "ok thanks" in kept


@pytest.mark.parametrize(
    "text",
    [
        "My memory is bad, and I like context.",
        "Memory: 16 GB",
        "a < b and b > c",
        "std::map<memory_order> m;",
        "- a list\n- of mine",
    ],
)
def test_the_user_s_own_words_stay_as_they_are(text: str) -> None:
    assert own_words(text) == text


@given(st.text(alphabet="ab \n“’–ß", min_size=1), st.text(alphabet="ab \n“’–ß"), st.text())
def test_a_quote_that_is_found_is_a_stretch_of_the_text(
    quote: str, before: str, after: str
) -> None:
    found = find_quote(quote, before + quote + after)
    assert (found is None) == (not quote.split())
    assert found is None or found in before + quote + after


def test_other_words_are_not_found() -> None:
    assert find_quote("I use Postgres", "I use MySQL") is None
    assert find_quote("use", "") is None
    assert find_quote("a.c", "abc") is None


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("I work at the office and I like it", "en"),
        ("ich wohne in Berlin und bin müde", "de"),
        ("me gusta el café", "es"),
        ("je travaille chez Airbus", "fr"),
        ("我在腾讯工作，用Python写代码", "zh"),
        ("東京に住んでいます", "ja"),
        ("저는 서울에 살아요", "ko"),
        ("я живу в Москве", "ru"),
        ("أعيش في القاهرة", "ar"),
        ("मैं दिल्ली में रहता हूँ", "hi"),
        ("12345 !?", None),
        ("", None),
    ],
)
def test_the_language_is_guessed_by_script_and_common_words(text: str, tag: str | None) -> None:
    assert guess_language(text) == tag
