"""Stems of English words; codes and other scripts stay as they are."""

import pytest

from threadkeep.search.stemming import english_stem


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("running", "run"),
        ("agencies", "agenc"),
        ("painted", "paint"),
        ("14806012", "14806012"),
        ("k8s", "k8s"),
        ("東京", "東京"),
        ("кофе", "кофе"),
    ],
)
def test_inflected_words_meet_in_their_stem(word: str, stem: str) -> None:
    assert english_stem(word) == stem
