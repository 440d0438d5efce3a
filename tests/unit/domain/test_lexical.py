"""Words of any script, and BM25F against its formula written out."""

from __future__ import annotations

import math
import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.domain.lexical import STOP_WORDS, Bm25f, LexicalIndex, words

VOCABULARY = ["coffee", "tea", "berlin", "run", "the", "running", "käse", "猫", "x1"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dark-Roast, COFFEE!", ["dark", "roast", "coffee"]),
        ("SMOKE-14806012", ["smoke", "14806012"]),
        ("don't", ["don", "t"]),
        ("Café cafe\u0301 CAFÉ", ["cafe", "cafe", "cafe"]),
        ("ﬁne １２", ["fine", "12"]),
        ("Straße", ["strasse"]),
        ("東京都に住む", ["東京", "京都", "都に", "に住", "住む"]),
        ("猫 in 東京", ["猫", "in", "東京"]),
        ("한국어 좋아", ["한국", "국어", "좋아"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("กาแฟ", ["กา", "าแ", "แฟ"]),
        ("Й й", ["й", "й"]),
        ("🎉🎉 party", ["🎉", "🎉", "party"]),
        ("\u200b — …", []),
        ("", []),
    ],
)
def test_words_of_every_script_are_found(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text())
def test_words_do_not_depend_on_how_characters_are_composed(text: str) -> None:
    composed = words(unicodedata.normalize("NFC", text))
    assert composed == words(unicodedata.normalize("NFD", text)) == words(text)
    assert all(composed)


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_is_split_alike_alone_and_beside_other_scripts(text: str) -> None:
    assert [*words(text), "ж"] == words(f"{text} ж")


documents = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d", "e"]),
    st.tuples(
        st.lists(st.sampled_from(VOCABULARY), max_size=8),
        st.lists(st.sampled_from(VOCABULARY), max_size=8),
    ),
)
parameters = st.builds(
    Bm25f, k1=st.floats(0.1, 3), b=st.floats(0, 1), context_weight=st.floats(0, 1)
)


def written_out(
    corpus: dict[str, tuple[list[str], list[str]]], query: list[str], parameters: Bm25f
) -> dict[str, float]:
    """Score by the formula of the docstring, document by document."""
    kept = {
        ref: tuple([w for w in words(" ".join(field)) if w not in STOP_WORDS] for field in fields)
        for ref, fields in corpus.items()
    }
    asked = {term for word in query for term in words(word) if term not in STOP_WORDS}
    means = [(sum(len(fields[at]) for fields in kept.values()) / len(kept)) or 1 for at in (0, 1)]
    weights = (1.0, parameters.context_weight)
    idf = {}
    for term in asked:
        holding = sum(any(term in field for field in fields) for fields in kept.values())
        idf[term] = math.log(1 + (len(kept) - holding + 0.5) / (holding + 0.5))
    scores = {}
    for ref, fields in kept.items():
        total = 0.0
        for term in asked:
            tf = sum(
                weight * field.count(term) / (1 - parameters.b + parameters.b * len(field) / mean)
                for field, weight, mean in zip(fields, weights, means, strict=True)
                if term in field
            )
            total += idf[term] * tf / (tf + parameters.k1)
        if any(term in field for term in asked for field in fields):
            scores[ref] = total / sum(idf.values())
    return scores


@given(documents, st.lists(st.sampled_from([*VOCABULARY, "unknown"])), parameters)
def test_scores_are_those_of_the_formula(
    corpus: dict[str, tuple[list[str], list[str]]], query: list[str], parameters: Bm25f
) -> None:
    index = LexicalIndex(parameters=parameters)
    for ref, (text, context) in corpus.items():
        index.put(ref, " ".join(text), " ".join(context))
    scores = index.scores(" ".join(query))
    assert scores == pytest.approx(written_out(corpus, query, parameters) if corpus else {})
    assert all(0 <= score < 1 for score in scores.values())


def test_a_text_without_context_scores_like_bm25_of_the_literature() -> None:
    # given texts alone, and the usual k1 and b
    corpus = {"1": "coffee tea coffee", "2": "tea", "3": "run berlin coffee run x1"}
    index = LexicalIndex(parameters=Bm25f(k1=1.2, b=0.75))
    for ref, text in corpus.items():
        index.put(ref, text)
    # when one term is asked for: idf cancels out, tf / (tf + k1 (1 - b + b len / mean)) remains
    scores = index.scores("coffee")
    # then
    assert scores["1"] == pytest.approx(2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 3)))
    assert scores["3"] == pytest.approx(1 / (1 + 1.2 * (0.25 + 0.75 * 5 / 3)))
    assert "2" not in scores


def test_any_history_of_changes_ends_in_the_same_scores() -> None:
    rng = random.Random(11)
    index = LexicalIndex()
    current: dict[str, tuple[str, str]] = {}
    for step in range(2000):
        # given documents that come, change and go
        ref = f"d{rng.randrange(12)}"
        if rng.random() < 0.4:
            index.remove(ref)
            current.pop(ref, None)
        else:
            texts = tuple(" ".join(rng.choices(VOCABULARY, k=rng.randrange(6))) for _ in range(2))
            current[ref] = (texts[0], texts[1])
            index.put(ref, *current[ref])
        if step % 20:
            continue
        # when a fresh index holds what is there now
        fresh = LexicalIndex()
        for kept, fields in current.items():
            fresh.put(kept, *fields)
        query = " ".join(rng.choices(VOCABULARY, k=3))
        # then both score exactly alike
        assert index.scores(query) == fresh.scores(query)
        assert len(index) == len(current)
        assert all((f"d{n}" in index) == (f"d{n}" in current) for n in range(12))


def test_a_word_in_the_text_counts_more_than_one_beside_it() -> None:
    index = LexicalIndex()
    index.put("said", "coffee berlin", "tea run")
    index.put("beside", "tea run", "coffee berlin")
    scores = index.scores("coffee")
    assert scores["said"] > scores["beside"] > 0


@pytest.mark.parametrize("query", ["", "what is it that you did", "!?", "unheard of"])
def test_a_query_without_a_known_term_matches_nothing(query: str) -> None:
    index = LexicalIndex()
    index.put("a", "what is it that you drink? coffee!")
    assert index.scores(query) == {}


def test_an_emoji_is_found() -> None:
    index = LexicalIndex()
    index.put("a", "we won 🎉")
    index.put("b", "we lost")
    assert list(index.scores("🎉")) == ["a"]


def test_the_only_document_is_found_by_its_code() -> None:
    """T69: what was stored is found by what it says, also alone in its corpus."""
    index = LexicalIndex()
    index.put("a", "Stored SMOKE-14806012")
    assert index.scores("SMOKE-14806012")["a"] > 0.4


def test_query_and_document_meet_in_the_stem() -> None:
    index = LexicalIndex(stem=lambda word: word[:3])
    index.put("a", "running")
    assert "a" in index.scores("runs")
