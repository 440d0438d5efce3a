"""The system prompt and the recall block."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from threadkeep.domain.entities import EntityType
from threadkeep.domain.prompting import RECALL_MARK, fill, recall_block, without_recall
from threadkeep.domain.relations import Relation, RelationType
from threadkeep.domain.retrieval import EntityHit, SearchAnswer

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def words(text: str) -> int:
    return len(text.split())


def hit(name: str, score: float | None = 0.5, **more: object) -> EntityHit:
    given_fields = {"id": name.replace(" ", "-")[:20], "entity_type": EntityType.PREFERENCE}
    times = {"created_at": NOW, "updated_at": NOW, "touched_at": NOW}
    return EntityHit.model_validate({**given_fields, **times, "name": name, "score": score, **more})


def joined(source: str, relation: RelationType, target: str) -> Relation:
    return Relation(
        id=f"{source}-{target}",
        source_entity_id=source,
        target_entity_id=target,
        relation_type=relation,
        valid_from=NOW,
        recorded_from=NOW,
        created_at=NOW,
        updated_at=NOW,
    )


def test_what_the_user_prefers_is_written_as_a_sentence() -> None:
    # given
    me = hit("You", None, id="me", is_self=True, entity_type=EntityType.PERSON)
    coffee = hit("dark roast coffee", 0.9, id="c", description="Bought monthly.")
    found = SearchAnswer(
        entities=(coffee, me), relations=(joined("me", RelationType.PREFERS, "c"),)
    )
    # when
    text, recall = recall_block(found, most_tokens=500, count=words)
    # then
    assert text.splitlines()[1:] == [
        "[memory] dark roast coffee (preference): Bought monthly.",
        "[memory] the user prefers dark roast coffee",
    ]
    assert recall.relations == found.relations
    assert recall.entities == (coffee, me)


def test_told_name_is_recalled() -> None:
    me = hit("Ann", 0.3, is_self=True, entity_type=EntityType.PERSON)
    text, _ = recall_block(SearchAnswer(entities=(me,)), most_tokens=500, count=words)
    assert "[memory] The user's name is Ann." in text


def test_nothing_found_is_no_block() -> None:
    text, recall = recall_block(SearchAnswer(), most_tokens=500, count=words)
    assert text == ""
    assert recall.entities == ()


def test_item_that_is_too_long_by_itself_does_not_keep_others_out() -> None:
    long = hit("long", 0.9, description="word " * 200)
    short = hit("short", 0.1)
    found = SearchAnswer(entities=(long, short))
    _, recall = recall_block(found, most_tokens=100, count=words)
    assert [entity.name for entity in recall.entities] == ["short"]


def test_block_without_room_for_its_header_is_left_out() -> None:
    text, recall = recall_block(SearchAnswer(entities=(hit("x"),)), most_tokens=3, count=words)
    assert (text, recall.entities) == ("", ())


@given(
    st.lists(st.text(min_size=1, max_size=30).filter(str.strip), max_size=20), st.integers(0, 99)
)
def test_block_never_exceeds_its_size_and_each_line_carries_the_mark(
    names: list[str], most: int
) -> None:
    hits = tuple(
        hit(name, 1 - rank / 100, id=f"e{rank}", description=name)
        for rank, name in enumerate(names)
    )
    text, recall = recall_block(SearchAnswer(entities=hits), most_tokens=most, count=words)
    assert words(text) <= most
    assert all(line.startswith(RECALL_MARK) for line in text.splitlines())
    assert len(recall.entities) == max(0, len(text.splitlines()) - 1)
    # what carries the mark is no user's word: nothing of a block that comes back is left
    assert without_recall(text) == ""


def test_recall_that_a_client_sent_back_is_not_the_users_word() -> None:
    said = "[memory] user likes tea\nok thanks\n  [memory] and cake\r\nbye"
    assert without_recall(said) == "ok thanks\nbye"


def test_value_is_never_a_template() -> None:
    assert fill("{{a}} {{ b }} {{c}}", {"a": "{{b}}", "b": "B"}) == "{{b}} B {{c}}"
