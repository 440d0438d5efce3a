"""JSON as language models write it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.llm.lenient_json import parse

# The characters that JSON is made of, and some that it is not.
TEXT = st.text('ab1"\\\n{}[],: é茶', max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
ITEMS = st.lists(st.dictionaries(TEXT, JSON, max_size=3), min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            'Here are the facts: ```json {"facts": [1]}``` hope it helps',
            {"facts": [1]},
        ),
        ('Sure! {"facts": []} Anything else? {"x": 1}', {"facts": []}),
        ('{"facts": [1, 2,],}', {"facts": [1, 2]}),
        ('{"a": True, "b": None} // done', {"a": True, "b": None}),
        ('{"a": 1, /* why */ "b": 2,}', {"a": 1, "b": 2}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
    ],
)
def test_chatty_fenced_and_loose_json_is_read(text: str, value: Any) -> None:
    """T07."""
    parsed = parse(text)
    assert parsed is not None
    assert parsed.value == value
    assert parsed.complete


def test_code_with_quotes_and_line_breaks_is_kept_verbatim() -> None:
    """T35."""
    text = '{"facts": [{"name": "std::map<"k">\nm;", "quote": "he said "hi", then left"}]}'
    parsed = parse(text)
    assert parsed is not None
    assert parsed.value == {
        "facts": [{"name": 'std::map<"k">\nm;', "quote": 'he said "hi", then left'}]
    }


def test_broken_escapes_do_not_lose_the_rest() -> None:
    """T06."""
    parsed = parse(r'{"a": "\ud83d\ude00", "b": "\ud800x", "c": "\uZZ", "d": "C:\dir",}')
    assert parsed is not None
    assert parsed.value == {"a": "😀", "b": "�x", "c": "\\uZZ", "d": "C:\\dir"}


@pytest.mark.parametrize("text", ["", "no json at all", "{", "[", "{{{", '"just a string"'])
def test_text_without_an_object_or_array_gives_nothing_or_an_incomplete_one(text: str) -> None:
    parsed = parse(text)
    assert parsed is None or not parsed.complete


def test_deep_nesting_ends_the_reading_and_not_the_process() -> None:
    parsed = parse("[" * 100_000)
    assert parsed is not None
    assert not parsed.complete


@given(ITEMS, st.floats(0, 1, exclude_max=True))
def test_of_a_text_that_was_cut_off_exactly_the_closed_items_are_kept(
    items: list[dict[str, Any]], share: float
) -> None:
    """T07: an item that is only half there is no item."""
    # Given an answer, and where each of its items ends
    ends, text = [], '{"facts": ['
    for item in items:
        text += json.dumps(item)
        ends.append(len(text))
        text += ", "
    whole = text.removesuffix(", ") + "]}"
    head = len('{"facts": [')
    cut = head + int(share * (len(whole) - head))

    # When it is cut off anywhere
    parsed = parse(whole[:cut])

    # Then the items that had ended are there, and it is said to be a part
    assert parsed is not None
    assert not parsed.complete
    kept = parsed.value["facts"] if isinstance(parsed.value, dict) else None
    assert kept == items[: sum(end <= cut for end in ends)]


@given(st.dictionaries(TEXT, JSON, max_size=3))
def test_strict_json_is_read_as_it_is(value: dict[str, Any]) -> None:
    parsed = parse(json.dumps(value))
    assert parsed is not None
    assert parsed.value == value
    assert parsed.complete
