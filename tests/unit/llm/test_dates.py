"""Dates as people state them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.llm.dates import StatedDate, iso_date, zone_of
from threadkeep.llm.offline.times import find_date

MONDAY = date(2026, 3, 2)


@pytest.mark.parametrize(
    ("text", "day", "precision", "phrase"),
    [
        ("I went there yesterday", date(2026, 3, 1), "day", "yesterday"),
        ("the day before yesterday I ran", date(2026, 2, 28), "day", "the day before yesterday"),
        ("we leave tomorrow morning", date(2026, 3, 3), "day", "tomorrow morning"),
        ("last Friday we met", date(2026, 2, 27), "day", "last Friday"),
        ("last Monday we met", date(2026, 2, 23), "day", "last Monday"),
        ("on Sat. I ran", date(2026, 2, 28), "day", "on Sat."),
        ("next Monday I fly", date(2026, 3, 9), "day", "next Monday"),
        ("it was last week", date(2026, 2, 23), "week", "last week"),
        ("over last weekend", date(2026, 2, 23), "week", "over last weekend"),
        ("two weeks ago", date(2026, 2, 16), "week", "two weeks ago"),
        ("3 days ago", date(2026, 2, 27), "day", "3 days ago"),
        ("in January", date(2026, 1, 1), "month", "January"),
        ("in May", date(2025, 5, 1), "month", "May"),
        ("next month", date(2026, 4, 1), "month", "next month"),
        ("on March 5th", date(2025, 3, 5), "day", "March 5th"),
        ("5 March 2024", date(2024, 3, 5), "day", "5 March 2024"),
        ("since March 2021", date(2021, 3, 1), "month", "March 2021"),
        ("on 2024-02-29", date(2024, 2, 29), "day", "2024-02-29"),
        ("back in 2019", date(2019, 1, 1), "year", "2019"),
        ("a couple of years ago", date(2024, 1, 1), "year", "a couple of years ago"),
        ("2024年5月", date(2024, 5, 1), "month", "2024年5月"),
    ],
)
def test_a_stated_time_is_found_with_its_precision(
    text: str, day: date, precision: str, phrase: str
) -> None:
    found = find_date(text, MONDAY)
    assert found is not None
    assert found.date == StatedDate(day, precision, phrase)
    assert text[found.start : found.end].endswith(phrase)


@pytest.mark.parametrize(
    "text",
    [
        "may I ask",
        "on 2026-02-30",
        "on Thursday evenings",
        "in 20190",
        "marching on",
        "2019 was ok",
    ],
)
def test_what_only_looks_like_a_time_is_none(text: str) -> None:
    assert find_date(text, MONDAY) is None


def test_how_long_tells_since_when_only_where_that_is_asked() -> None:
    assert find_date("for three years", MONDAY) is None
    found = find_date("for three years", MONDAY, durations=True)
    assert found is not None
    assert (found.date.day, found.date.precision) == (date(2023, 1, 1), "year")


@given(st.dates(date(1900, 1, 1), date(2200, 1, 1)))
def test_last_and_next_weekday_are_within_a_week_on_their_side(said_on: date) -> None:
    for which, earliest, latest in (("last", -7, -1), ("next", 1, 7)):
        found = find_date(f"{which} Wednesday", said_on)
        assert found is not None
        assert found.date.day.weekday() == 2
        assert earliest <= (found.date.day - said_on).days <= latest


@given(st.text(max_size=40), st.dates())
def test_no_text_and_no_day_break_the_finding(text: str, said_on: date) -> None:
    find_date(f"{text} 99 years ago in 12 months next year", said_on, durations=True)


@pytest.mark.parametrize(
    ("stated", "text", "label"),
    [
        (StatedDate(date(2026, 3, 1), "day"), "2026-03-01", "2026-03-01"),
        (StatedDate(date(2026, 2, 23), "week"), "2026-02-23", "week of 2026-02-23"),
        (StatedDate(date(2026, 3, 1), "month"), "2026-03", "2026-03"),
        (StatedDate(date(2026, 1, 1), "year"), "2026", "2026"),
    ],
)
def test_a_date_is_written_no_more_precisely_than_it_was_stated(
    stated: StatedDate, text: str, label: str
) -> None:
    assert (stated.text(), stated.label()) == (text, label)


@pytest.mark.parametrize(
    ("stated", "within", "next_day"),
    [
        (StatedDate(date(2026, 3, 1), "day"), date(2026, 3, 1), date(2026, 3, 2)),
        (StatedDate(date(2026, 2, 23), "week"), date(2026, 3, 1), date(2026, 3, 2)),
        (StatedDate(date(2026, 2, 1), "month"), date(2026, 2, 28), date(2026, 3, 1)),
        (StatedDate(date(2025, 12, 1), "month"), date(2025, 12, 31), date(2026, 1, 1)),
        (StatedDate(date(2025, 1, 1), "year"), date(2025, 12, 31), date(2026, 1, 1)),
    ],
)
def test_a_stretch_that_is_not_over_tells_no_beginning(
    stated: StatedDate, within: date, next_day: date
) -> None:
    zone = ZoneInfo("Asia/Tokyo")
    assert stated.begins(zone, within) is None
    begins = stated.begins(zone, next_day)
    assert begins is not None
    assert begins.astimezone(zone).date() == stated.day
    assert begins.tzinfo is UTC


@pytest.mark.parametrize(
    ("name", "offset"),
    [("Asia/Tokyo", 9), ("+09:00", 9), ("UTC-3", -3), ("-0330", -3.5), ("UTC", 0)],
)
def test_a_zone_is_known_by_name_or_offset(name: str, offset: float) -> None:
    assert zone_of(name).utcoffset(datetime(2026, 3, 2)) == timedelta(hours=offset)  # noqa: DTZ001


@pytest.mark.parametrize("name", ["", "Mars/Olympus", "+99:00", "../etc/passwd", "Asia/", "\x00"])
def test_an_unknown_zone_is_utc(name: str) -> None:
    assert zone_of(name) in (UTC, UTC)


@pytest.mark.parametrize("text", ["", "soon", "2026-13", "2026-02-30", "20260301", "0000"])
def test_what_is_no_iso_date_is_none(text: str) -> None:
    assert iso_date(text) is None
