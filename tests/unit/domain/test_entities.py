"""How descriptions of one thing are merged."""

from __future__ import annotations

import pytest

from threadkeep.domain.entities import merge_description
from threadkeep.domain.limits import MAX_DESCRIPTION_BYTES


@pytest.mark.parametrize(
    ("current", "stated", "merged"),
    [
        ("", "Uses Java", "Uses Java"),
        ("Uses Java", "", "Uses Java"),
        ("One. Two.", "two. ONE.", "One. Two."),
        ("Likes tea", "Likes tea. Drinks it daily.", "Likes tea\nDrinks it daily."),
        ("One.", "Two", "One. Two"),
        ("One", "Two", "One\nTwo"),
        ("喜欢茶。", "住在上海。喜欢茶", "喜欢茶。 住在上海。"),
        ("Uses JavaScript.", "Uses Java.", "Uses JavaScript. Uses Java."),
        ("Never eats meat.", "Eats meat.", "Never eats meat. Eats meat."),
        ("Likes tea.", "Likes tea?", "Likes tea. Likes tea?"),
    ],
)
def test_what_is_new_is_added_and_nothing_said_twice(
    current: str, stated: str, merged: str
) -> None:
    assert merge_description(current, stated) == merged


@pytest.mark.parametrize("ending", ["", ".", " ", ".\t", "\n", "。", "!", "..."])
def test_restating_any_part_changes_nothing(ending: str) -> None:
    # given
    merged = merge_description(merge_description(f"one{ending}", f"two{ending}"), "three")
    # then
    for part in ("one", f"one{ending}", f"two{ending}", "three", merged):
        assert merge_description(merged, part) == merged


def test_what_does_not_fit_is_left_out_whole() -> None:
    # given
    full = "é" * (MAX_DESCRIPTION_BYTES // 2 - 3) + "."
    # then: five bytes are left, one of them for the blank
    assert merge_description(full, "12345. 123.") == f"{full} 123."
    assert merge_description(full, "1234.") == full


def test_many_sentences_merge_in_one_pass() -> None:
    """Each of these letters folds to 18: comparing all with all would take many seconds."""
    # given
    current, stated = (
        "\n".join(f"\ufdfa{n:x}" for n in half) for half in (range(600), range(1200))
    )
    # when
    merged = merge_description(current, stated)
    # then
    assert merged.startswith(current)
    assert len(merged.encode()) <= MAX_DESCRIPTION_BYTES
    assert merge_description(merged, stated) == merged
