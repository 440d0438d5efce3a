"""Times in a clause, made absolute from the day on which it was said, in the user's zone."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from threadkeep.llm.dates import StatedDate

_NUMBERS = {
    word: number
    for number, words in enumerate(
        [
            *["", "a an one", "two couple", "three", "four", "five", "six", "seven", "eight"],
            *["nine", "ten", "eleven", "twelve"],
        ]
    )
    for word in words.split()
}
_NUMBER = rf"(?P<number>\d{{1,3}}|(?:a )?couple(?: of)?|{'|'.join(_NUMBERS)})"
_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_MONTHS = [
    *["january", "february", "march", "april", "may", "june", "july", "august"],
    *["september", "october", "november", "december"],
]
_MONTH_NAME = "(?P<month>" + "|".join(f"{m}|{m[:3]}\\.?" for m in _MONTHS) + ")"
_WEEKDAY_NAME = (
    "(?P<weekday>" + "|".join(_WEEKDAYS) + r"|(?:mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)\b\.?)"
)
_DAY_OF_MONTH = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d{2})"

type Resolve = Callable[[re.Match[str], date], tuple[date, str]]


@dataclass(frozen=True)
class FoundDate:
    """A date and where in the clause its words stand."""

    date: StatedDate
    start: int
    end: int


def find_date(text: str, said_on: date, *, durations: bool = False) -> FoundDate | None:
    """Return the first date of a clause, or None.

    Args:
        text: A clause.
        said_on: The day on which it was said, in the speaker's zone.
        durations: Whether "for three years" tells since when something holds.
    """
    found: list[FoundDate] = []
    for pattern, resolve in (*_PATTERNS, *(_DURATIONS if durations else ())):
        match = pattern.search(text)
        if match is None:
            continue
        try:
            day, precision = resolve(match, said_on)
        except (ValueError, OverflowError):  # such as February 30th
            continue
        phrase = match["phrase"]
        found.append(
            FoundDate(StatedDate(day, precision, phrase), match.start(), match.end("phrase"))
        )
    return min(found, key=lambda one: (one.start, -one.end), default=None)


def _in_days(days: int) -> Resolve:
    return lambda _, said_on: (said_on + timedelta(days=days), "day")


def _number(match: re.Match[str]) -> int:
    text = match["number"].casefold().removeprefix("a ").removesuffix(" of")
    return int(text) if text.isdigit() else _NUMBERS[text]


def _back(said_on: date, number: int, unit: str) -> tuple[date, str]:
    """Go back by a number of units; a negative number goes forward."""
    if unit == "day":
        return said_on - timedelta(days=number), "day"
    if unit == "week":
        return _monday(said_on - timedelta(weeks=number)), "week"
    if unit == "month":
        months = said_on.year * 12 + said_on.month - 1 - number
        return date(months // 12, months % 12 + 1, 1), "month"
    return date(said_on.year - number, 1, 1), "year"


def _ago(match: re.Match[str], said_on: date) -> tuple[date, str]:
    return _back(said_on, _number(match), match["unit"].casefold())


def _ahead(match: re.Match[str], said_on: date) -> tuple[date, str]:
    return _back(said_on, -_number(match), match["unit"].casefold())


def _near(match: re.Match[str], said_on: date) -> tuple[date, str]:
    number = {"last": 1, "past": 1, "this": 0, "next": -1}[match["which"].casefold()]
    return _back(said_on, number, match["unit"].casefold())


def _weekday(match: re.Match[str], said_on: date) -> tuple[date, str]:
    named = match["weekday"].casefold()[:3]
    weekday = next(at for at, name in enumerate(_WEEKDAYS) if name.startswith(named))
    if match["which"].casefold() in ("next", "this", "coming"):
        return said_on + timedelta(days=(weekday - said_on.weekday() - 1) % 7 + 1), "day"
    return said_on - timedelta(days=(said_on.weekday() - weekday - 1) % 7 + 1), "day"


def _weekend(match: re.Match[str], said_on: date) -> tuple[date, str]:
    weeks = {"last": 1, "past": 1, "this": 0, "next": -1}[match["which"].casefold()]
    return _monday(said_on - timedelta(weeks=weeks)), "week"


def _month(match: re.Match[str], said_on: date) -> tuple[date, str]:
    """Read a month with or without day and year; without year, the latest that is not ahead."""
    groups = match.groupdict()
    month = 1 + next(
        at for at, name in enumerate(_MONTHS) if name.startswith(groups["month"].casefold()[:3])
    )
    day, year = groups.get("day"), groups.get("year")
    if year:
        stated = date(int(year), month, int(day or 1))
    else:
        stated = date(said_on.year, month, int(day or 1))
        if stated > said_on:
            stated = date(said_on.year - 1, month, int(day or 1))
    return stated, "day" if day else "month"


def _iso(match: re.Match[str], _: date) -> tuple[date, str]:
    return date.fromisoformat(match["phrase"]), "day"


def _year(match: re.Match[str], _: date) -> tuple[date, str]:
    return date(int(match["year"]), 1, 1), "year"


def _chinese(match: re.Match[str], _: date) -> tuple[date, str]:
    year, month, day = match["year"], match["month"], match["day"]
    precision = "day" if day else "month" if month else "year"
    return date(int(year), int(month or 1), int(day or 1)), precision


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _pattern(words: str, *, before: str = "") -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){before}(?P<phrase>{words})(?![\w-])", re.IGNORECASE)


_UNIT = "(?P<unit>day|week|month|year)"
_PATTERNS: tuple[tuple[re.Pattern[str], Resolve], ...] = (
    (_pattern(r"(?:the )?day before yesterday"), _in_days(-2)),
    (_pattern(r"yesterday(?: (?:morning|afternoon|evening))?|last night"), _in_days(-1)),
    (_pattern(r"today|tonight|this (?:morning|afternoon|evening)"), _in_days(0)),
    (_pattern(r"(?:the )?day after tomorrow"), _in_days(2)),
    (_pattern(r"tomorrow(?: (?:morning|afternoon|evening|night))?"), _in_days(1)),
    (_pattern(rf"{_NUMBER} {_UNIT}s? ago"), _ago),
    (_pattern(rf"in {_NUMBER} {_UNIT}s?(?:' time)?"), _ahead),
    (_pattern(r"(?P<which>last|this|next|past) (?P<unit>week|month|year)"), _near),
    (
        _pattern(
            rf"(?:this )?(?P<which>last|past|next|this|coming|on) {_WEEKDAY_NAME}(?!\s+\w+s\b)"
        ),
        _weekday,
    ),
    (_pattern(r"(?:over )?(?P<which>last|past|this|next) weekend"), _weekend),
    (_pattern(r"\d{4}-\d{2}-\d{2}", before=r"(?:on |since )?"), _iso),
    (_pattern(rf"{_MONTH_NAME} {_DAY_OF_MONTH},? {_YEAR}", before="(?:on |since )?"), _month),
    (_pattern(rf"{_DAY_OF_MONTH}(?: of)? {_MONTH_NAME},? {_YEAR}", before="(?:on )?"), _month),
    (_pattern(rf"{_MONTH_NAME} {_DAY_OF_MONTH}", before="(?:on |since )?(?:the )?"), _month),
    (
        _pattern(rf"{_DAY_OF_MONTH}(?: of)? {_MONTH_NAME}", before="(?:on |since )?(?:the )?"),
        _month,
    ),
    (_pattern(rf"{_MONTH_NAME},?(?: of)? {_YEAR}", before="(?:in |since |back in )?"), _month),
    (_pattern(_MONTH_NAME, before="(?:in|since|last|this past) "), _month),
    (_pattern(_YEAR, before="(?:in|since|back in|from) "), _year),
    (re.compile("(?P<phrase>前天)"), _in_days(-2)),
    (re.compile("(?P<phrase>昨天|昨晚)"), _in_days(-1)),
    (re.compile("(?P<phrase>今天|今晚)"), _in_days(0)),
    (re.compile("(?P<phrase>明天)"), _in_days(1)),
    (re.compile("(?P<phrase>上周|上个星期|上星期)"), lambda _, day: _back(day, 1, "week")),
    (re.compile("(?P<phrase>上个月)"), lambda _, day: _back(day, 1, "month")),
    (re.compile("(?P<phrase>去年)"), lambda _, day: _back(day, 1, "year")),
    (re.compile("(?P<phrase>今年)"), lambda _, day: _back(day, 0, "year")),
    (
        re.compile(
            r"(?P<phrase>(?P<year>(?:19|20)\d{2})年(?:(?P<month>\d{1,2})月(?:(?P<day>\d{1,2})[日号])?)?)"
        ),
        _chinese,
    ),
)
_DURATIONS: tuple[tuple[re.Pattern[str], Resolve], ...] = (
    (_pattern(rf"{_NUMBER} (?P<unit>month|year)s?", before="for (?:about |over |almost )?"), _ago),
)
