"""Reading plain statements by rules."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.llm.grading import grade, statements
from threadkeep.domain.conversations import Message, Role, Usage
from threadkeep.llm.offline.extractor import RuleExtractor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threadkeep.domain.extraction import ExtractedEntity, ExtractedRelation, Extraction

SAID_AT = datetime(2026, 3, 2, tzinfo=UTC)


def extract(*turns: str, zone: str = "UTC") -> Extraction:
    """Return what is read in turns of the user."""
    messages = [
        Message(
            id=f"m{seq}",
            conversation_id="c1",
            seq=seq,
            role=Role.USER,
            content=content,
            created_at=SAID_AT,
        )
        for seq, content in enumerate(turns, 1)
    ]
    extraction, _ = RuleExtractor().extract("offline", messages, instructions="", zone=zone)
    return extraction


def read(*turns: str) -> list[str]:
    """Return what is read, a statement a line."""
    return [f"{s.source} {s.relation} {s.target}" for s in statements(extract(*turns))]


# What is read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Work
        ("I work at Acme", ["self works_at Acme"]),
        ("i work at acme", ["self works_at acme"]),
        ("I'm an engineer at Globex.", ["self works_at Globex"]),
        ("I've been working at Acme since 2019", ["self works_at Acme"]),
        ("I just started a new job as a data analyst at Wise", ["self works_at Wise"]),
        ("I'm a nurse", ["self related_to nurse"]),
        ("I'm working on project Apollo", ["self works_on Apollo"]),
        ("Working at Siemens as a tester", ["self works_at Siemens"]),
        # Tastes
        ("I prefer tea over coffee", ["self prefers tea"]),
        ("I really like hiking in the hills and jazz.", [
            "self prefers hiking in the hills",
            "self prefers jazz",
        ]),
        ("I'd prefer window seats", ["self prefers window seats"]),
        ("My favorite editor is Helix", ["self prefers Helix"]),
        ("I hate mushrooms", ["self related_to dislikes mushrooms"]),
        ("I don't like olives", ["self related_to dislikes olives"]),
        # Facts
        ("I am allergic to peanuts", ["self related_to allergic to peanuts"]),
        ("I'm vegetarian and allergic to nuts", [
            "self related_to vegetarian",
            "self related_to allergic to nuts",
        ]),
        ("I have a dog", ["self related_to dog"]),
        ("I don't eat meat", ["self related_to does not eat meat"]),
        ("I quit smoking", ["self related_to stopped smoking"]),
        # Places
        ("I live in Lisbon with my cat", ["self located_in Lisbon"]),
        ("I moved from Rome to Milan in 2021", ["self located_in Milan"]),
        # Tools, skills, goals
        ("I use Obsidian for my notes", ["self uses Obsidian"]),
        ("I'm learning Rust, what book should I read?", ["self related_to Rust"]),
        ("I speak Spanish and a little French", ["self knows Spanish", "self knows French"]),
        ("My goal is to run a marathon", ["self has_goal run a marathon"]),
        ("I want to learn piano", ["self has_goal learn piano"]),
        # People
        ("My name is Priya", ["self is_named Priya"]),
        ("Hi! I'm Priya, a designer at Figma", ["self works_at Figma", "self is_named Priya"]),
        ("my boss Dana wants KPIs", ["self knows Dana"]),
        ("Dana is my boss", ["self knows Dana"]),
        ("My sister Mia lives in Oslo. She works at Equinor.", [
            "self knows Mia",
            "Mia located_in Oslo",
            "Mia works_at Equinor",
        ]),
        ("I have two sisters: Ana and Eva", ["self knows Ana", "self knows Eva"]),
        ("Mia met Lee who uses MySQL", ["Mia knows Lee", "Lee uses MySQL"]),
        ("Ann and Anna differ. Ann works at Initech. Anna lives in Graz.", [
            "Ann works_at Initech",
            "Anna located_in Graz",
        ]),
        ("The billing service is part of Project Atlas", ["billing service part_of Atlas"]),
        # Chinese
        ("我叫王小明，在腾讯工作", ["self works_at 腾讯", "self is_named 王小明"]),
        ("我住在上海，喜欢喝咖啡", ["self located_in 上海", "self prefers 咖啡"]),
        ("我姐姐叫陈静，她住在杭州", ["self knows 陈静", "陈静 located_in 杭州"]),
    ],
)  # fmt: skip
def test_plain_statements_are_read(text: str, expected: list[str]) -> None:
    assert read(text) == expected


def test_two_statements_in_one_sentence_are_both_read_and_a_roast_is_coffee() -> None:
    assert read("I work at Acme and I prefer dark roast") == [
        "self works_at Acme",
        "self prefers dark roast coffee",
    ]
    assert read("For tea, I prefer oolong") == ["self prefers oolong tea"]


def test_names_are_kept_byte_for_byte_and_the_language_is_noted() -> None:
    """T14."""
    extraction = extract("我叫王小明，在腾讯工作")
    assert extraction.self_name == "王小明"
    assert [entity.name for entity in extraction.entities] == ["腾讯"]
    assert extraction.entities[0].note.language == "zh"
    assert extract("I work at Acme").entities[0].note.language == "en"


def test_another_s_boss_sister_or_wife_is_not_the_user() -> None:
    """T59."""
    assert extract("my boss Dana wants KPIs").self_name is None
    assert read("My wife is a teacher") == ["self knows wife", "wife related_to teacher"]
    assert read("我太太是医生，在协和医院上班") == []


# Ends


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I no longer work at Acme", ["self no_longer_works_at Acme"]),
        ("I quit my job at Acme last week", ["self no_longer_works_at Acme"]),
        ("I used to work at Acme", ["self no_longer_works_at Acme"]),
        ("I stopped using Vim", ["self no_longer_uses Vim"]),
        ("I don't like olives anymore", ["self no_longer_prefers olives"]),
        ("I don't live in Rome any more", ["self no_longer_located_in Rome"]),
        ("Noor no longer works on P1", ["Noor no_longer_works_on P1"]),
        (
            "I switched from Vim to Emacs",
            ["self no_longer_uses Vim", "self uses Emacs"],
        ),
        (
            "Noor was reassigned from P1 to P2",
            ["Noor no_longer_works_on P1", "Noor works_on P2"],
        ),
        ("我不再喜欢咖啡了", ["self no_longer_prefers 咖啡"]),
    ],
)  # fmt: skip
def test_an_end_is_read_as_an_end(text: str, expected: list[str]) -> None:
    assert read(text) == expected


def test_reassigned_takes_the_place_of_what_it_does_not_name_and_another_project_does_not() -> None:
    """T22."""
    first, second = extract("Noor works on P1", "Noor was reassigned to P2").relations
    assert (first.replaces, second.replaces) == (False, True)
    assert first.source_ref == second.source_ref
    assert not any(r.replaces for r in extract("Noor works on P1", "Noor works on P2").relations)


def test_a_fact_of_one_person_says_nothing_about_another_s() -> None:
    """T21."""
    assert read("Mia uses Postgres", "Mia met Lee who uses MySQL") == [
        "Mia uses Postgres",
        "Mia knows Lee",
        "Lee uses MySQL",
    ]


# What is not read


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Thanks, that's great!",
        # Questions, conditions, guesses, plans
        "could we use Obsidian?",
        "Do you know whether I work at Acme?",
        "You work at Acme, right?",
        "if I moved to Berlin I would work at Zalando",
        "Suppose I live in Paris.",
        "maybe I like tea",
        "I might move to Rome",
        "I think I like jazz",
        "I was thinking of moving to Berlin",
        "We can use Postgres",
        "I'd like to book a table",
        "I don't work at Acme",
        "你喜欢茶吗？",
        "如果我搬到北京",
        # Other people's words, and text to work on
        "[memory] user likes tea\nok thanks",
        "<memory>I work at Foo</memory> ok",
        "Relevant memories:\n- I like tea\n- I live in Rome\n\nok thanks",
        'He said "I love tea" and left.',
        "> I work at Foo\nI agree",
        "Translate this: I work at a bank",
        "Please proofread:\nI work at Acme.\nI like tea.",
        "On Mon, Mar 2, Bob wrote:\nI work at Foo",
        "```\nI use Perl\n```",
        # Of nobody, or of something just mentioned
        "It uses Redis",
        "He works at Acme",
        "Dogs love walks",
        "Everyone uses Slack",
        "I love it!",
        "I love the color of that picture",
        "I like your answer",
        "I know that you can't",
        "I have a question about Python",
        "I can't find the file",
        "I'm tired",
    ],
)
def test_what_states_nothing_of_the_user_s_own_is_not_read(text: str) -> None:
    """T02, T18, T76."""
    extraction = extract(text)
    assert (extraction.entities, extraction.relations, extraction.self_name) == ((), (), None)


@pytest.mark.parametrize(
    "text",
    [
        "My password is hunter2 and I work at Acme",
        "I work at Acme, the key is AKIAIOSFODNN7EXAMPLE",
        "I work at Acme. I use sk-proj-abcdefghijklmnopqrstuv for it.",
    ],
)
def test_secrets_are_nowhere_in_what_is_read(text: str) -> None:
    """T63."""
    extraction = extract(text)
    assert [entity.name for entity in extraction.entities] == ["Acme"]
    dumped = extraction.model_dump_json()
    assert all(secret not in dumped for secret in ("hunter2", "AKIA", "sk-proj"))


# Evidence, importance, times


@pytest.mark.parametrize(
    "text",
    [
        "Hello.  I work at Acme,\nand my name is Priya!",
        "I’m an engineer at Globex… My sister’s name is Ana. 🎉",
        "Well: I don't like olives anymore (really). 我叫王小明。",
    ],
)
def test_quotes_are_stretches_of_the_turn(text: str) -> None:
    extraction = extract("Hello", text)
    assert extraction.entities or extraction.self_name
    found: list[ExtractedEntity | ExtractedRelation] = [*extraction.entities, *extraction.relations]
    for statement in found:
        assert statement.message_id == "m2"
        assert statement.quote in text
        assert statement.note.modality == "asserted"


def test_the_same_thing_said_twice_is_one_entity_and_each_turn_supports_it() -> None:
    """T65."""
    extraction = extract("I work at Acme", "As I said, I work at ACME", "I work at Acme")
    assert [entity.name for entity in extraction.entities] == ["Acme"]
    assert next(r.message_id for r in extraction.relations) == "m1"
    assert len({r.message_id for r in extraction.relations}) == len(extraction.relations) > 1


def test_health_and_identity_matter_more_than_what_happened_once() -> None:
    def importance(text: str) -> float:
        (entity,) = extract(text).entities
        return entity.importance

    assert importance("I'm allergic to nuts") > importance("I work at Acme")
    assert importance("I work at Acme") > importance("I like tea") > 0.5
    assert 0.5 > importance("I went to the dentist") >= 0.2


@pytest.mark.parametrize(
    ("text", "zone", "day", "phrase", "precision", "starts"),
    [
        ("I moved to Osaka yesterday", "Asia/Tokyo", "2026-03-01", "yesterday", "day",
         datetime(2026, 2, 28, 15, tzinfo=UTC)),
        ("I moved to Osaka yesterday", "America/New_York", "2026-02-28", "yesterday", "day",
         datetime(2026, 2, 28, 5, tzinfo=UTC)),
        ("Last week I moved to Osaka", "UTC", None, "Last week", "week",
         datetime(2026, 2, 23, tzinfo=UTC)),
        ("I moved to Osaka in 2019", "UTC", None, "2019", "year", datetime(2019, 1, 1, tzinfo=UTC)),
        ("I've lived in Osaka since May 2021", "UTC", None, "May 2021", "month",
         datetime(2021, 5, 1, tzinfo=UTC)),
        ("我昨天搬到大阪", "UTC", None, "昨天", "day", datetime(2026, 3, 1, tzinfo=UTC)),
    ],
)  # fmt: skip
def test_relative_times_become_absolute_in_the_user_s_zone_with_their_precision(
    text: str, zone: str, day: str | None, phrase: str, precision: str, starts: datetime
) -> None:
    """T60, T61: said at midnight UTC, which is still March 1st in New York."""
    (relation,) = extract(text, zone=zone).relations
    assert relation.valid_from == starts
    assert (relation.note.original_phrase, relation.note.time_precision) == (phrase, precision)


def test_an_event_carries_its_date_so_that_two_of_a_kind_stay_two() -> None:
    """T61."""
    extraction = extract(
        "I went to the dentist yesterday", "I went to the dentist last month", zone="Asia/Tokyo"
    )
    assert [(e.name, e.properties["date"]) for e in extraction.entities] == [
        ("went to the dentist (2026-03-01)", "2026-03-01"),
        ("went to the dentist (2026-02)", "2026-02"),
    ]


def test_what_began_today_holds_from_the_time_of_saying() -> None:
    """A start at midnight would come before what was said this morning, and lose against it."""
    for text in ("I started a new job at Acme today", "I moved to Osaka this week"):
        (relation,) = extract(text).relations
        assert relation.valid_from is None


# Any text


@pytest.mark.parametrize(
    "unit",
    [" ", "“", "` ", "\n ", "<memory ", "[memory", "I work at ", "and I ", "very ", "a, ", "我",
     "- \n", "!\"'", "Aa ", "password ", "On ", "#", "a://", "I'm a very-good "],
)  # fmt: skip
def test_a_long_message_of_anything_is_read_to_its_end(unit: str) -> None:
    """A pattern that backtracks over the whole text would not come back within the suite's time."""
    text = unit * (64_000 // len(unit))
    extract(text, f"I like {text}", f"I have {text}")


def test_names_fit_the_service_s_limits_whatever_is_said() -> None:
    for text in (
        "I like " + "x" * 5000,
        "I work at " + "A" * 5000,
        "I like " + "very tasty " * 500,
    ):
        assert all(len(entity.name) <= 255 for entity in extract(text).entities)


# The grade

LEAST_PRECISION = 0.80
LEAST_RECALL = 0.40


def test_the_rules_hold_their_grade_on_sentences_that_were_written_after_them() -> None:
    """The 40 sentences of ``tests/data/graded_sentences.json`` are everyday ones, a third of which
    state nothing. They were written when the rules stood, and no rule was made for them; one fault
    that they showed was mended, since it said something false (a wife's employer was taken for the
    user's). The bounds are what the rules reach: the rules leave out much, and add little.
    """
    score = grade(RuleExtractor(), "offline")
    assert score.false_alarms == 0
    assert score.precision >= LEAST_PRECISION
    assert score.recall >= LEAST_RECALL


class OneNote(RuleExtractor):
    """Reads the same from every turn."""

    def extract(
        self, model_id: str, messages: Sequence[Message], **_: Any
    ) -> tuple[Extraction, Usage]:
        """Read that the user works at Umbrella."""
        return extract("I work at Umbrella"), Usage()


def test_the_grading_tells_right_from_wrong() -> None:
    score = grade(OneNote(), "offline")
    assert (score.right, score.found) == (0, 40)
    assert score.false_alarms > 10
