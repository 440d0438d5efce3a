"""The retrieval benchmark reads, measures and ranks as it says."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from bench.locomo import MULTI_HOP, SINGLE_HOP, Question, read, turns_named
from bench.measures import Results, measures
from bench.systems import LONGEST_RANKING, bm25, corpus, cosine, product, reciprocal_rank_fusion
from bench.tuning import evidence
from tests.fakes.embedder import HashingEmbedder
from threadkeep.domain.fusion import FusionWeights
from threadkeep.domain.retrieval import Mode

if TYPE_CHECKING:
    from pathlib import Path

    from bench.locomo import Sample


SAID = [
    ("Mia", "I adopted a cat called Nori."),
    ("Lee", "Lovely! What does she eat?"),
    ("Mia", "Mostly salmon, and my socks."),
    ("Lee", "I run along the river every morning."),
    ("Mia", "I am afraid of the river."),
]


def a_file(path: Path, qa: list[dict[str, Any]]) -> Path:
    sessions = {
        f"session_{number}": [
            {"speaker": speaker, "dia_id": f"D{number}:{place}", "text": f"{text} ({number})"}
            for place, (speaker, text) in enumerate(SAID, 1)
        ]
        for number in (1, 2)
    }
    sample = {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Mia",
            "speaker_b": "Lee",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_2_date_time": "9:00 am on 1 June, 2023",
            **sessions,
        },
        "observation": {
            "session_1_observation": {
                "Mia": [["Mia has a cat.", "D1:1"], ["Mia's cat eats fish.", ["D1:2", "D1:3"]]]
            }
        },
        "qa": qa,
    }
    path.write_text(json.dumps([sample]), encoding="utf-8")
    return path


QA = [
    {"question": "What does Mia's cat eat?", "category": 4, "evidence": ["D1:3"]},
    {"question": "Who runs in the morning?", "category": 1, "evidence": ["D1:4", "D2:04"]},
    {"question": "What is Lee afraid of?", "category": 5, "evidence": ["D1:5; D2:5"]},
    {"question": "salmon", "category": 3, "evidence": ["D"]},
    {"question": "nothing", "category": 3, "evidence": []},
]


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    (only,) = read(a_file(tmp_path / "locomo.json", QA))
    return only


@pytest.mark.parametrize(
    ("evidence", "turns"),
    [
        ("D1:3", ["D1:3"]),
        ("D8:6; D9:17", ["D8:6", "D9:17"]),
        ("D:11:26", ["D11:26"]),
        ("D30:05", ["D30:5"]),
        ("D", []),
    ],
)
def test_malformed_evidence_is_read_as_far_as_it_names_turns(
    evidence: str, turns: list[str]
) -> None:
    assert turns_named(evidence) == turns


def test_a_file_becomes_turns_facts_and_questions(sample: Sample) -> None:
    assert [len(session) for session in sample.sessions] == [5, 5]
    assert sample.sessions[1][0].speaker == "Mia"
    assert sample.sessions[1][0].created_at.isoformat() == "2023-06-01T09:00:00+00:00"
    assert [[e.turn[-14:] for e in fact.evidence] for fact in sample.facts] == [
        ["000000000001-1"],
        ["000000000002-2", "000000000003-3"],
    ]
    assert [len(question.gold) for question in sample.questions] == [1, 2, 2]
    assert sample.dropped == (
        "evidence 'D'",
        "question without evidence: 'salmon'",
        "question without evidence: 'nothing'",
    )


def test_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"qa": []}', encoding="utf-8")
    with pytest.raises(ValueError, match="LoCoMo"):
        read(path)


def test_measures_are_those_of_their_definitions() -> None:
    ranking = [f"t{n}" for n in range(1, 31)]
    tokens = dict.fromkeys([*ranking, "lost"], 100)
    found = measures(ranking, frozenset({"t2", "t8", "t15", "lost"}), tokens)
    assert found["recall_at_5"] == 1 / 4
    assert found["recall_at_10"] == 2 / 4
    assert found["recall_at_20"] == 3 / 4
    assert found["mrr"] == 1 / 2
    ideal = sum(1 / math.log2(rank + 1) for rank in (1, 2, 3, 4))
    assert found["ndcg_at_10"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(9)) / ideal)
    assert found["gold_in_250_tokens"] == 1 / 4
    assert found["gold_in_1000_tokens"] == 2 / 4
    assert found["gold_in_2000_tokens"] == 3 / 4


def test_headline_figures_are_over_the_questions_they_are_named_after() -> None:
    questions = [
        Question("", category, frozenset({"t"})) for category in (MULTI_HOP, SINGLE_HOP, 5)
    ]
    rows = [measures(ranking, frozenset({"t"}), {"t": 1}) for ranking in (["t"], [], ["t"])]
    headline = Results(questions, [0, 0, 0], rows).headline()
    assert headline["recall_at_10"] == headline["mrr"] == 50.0
    assert headline["multi_hop_recall_at_10"] == headline["adversarial_recall_at_10"] == 100.0
    only = Results(questions[1:2], [0], rows[1:2])
    assert only.headline()["adversarial_recall_at_10"] is None
    assert only.interval("adversarial_recall_at_10") is None


def test_every_system_ranks_turns_of_the_conversation(sample: Sample) -> None:
    given = corpus(sample, HashingEmbedder())
    refs = set(given.texts)
    rankings = {
        "product": product(given, mode=Mode.HYBRID, recency_weight=0.02, facts=True),
        "bm25": bm25(given),
        "cosine": cosine(given),
        "rrf": reciprocal_rank_fusion(given),
    }
    for ranked in rankings.values():
        assert len(ranked) == len(sample.questions)
        for ranking in ranked:
            assert refs.issuperset(ranking)
            assert len(ranking) == len(set(ranking)) <= LONGEST_RANKING
    # The turn that shares no word with the question is found by what surrounds it.
    assert given.texts[rankings["product"][0][0]].startswith("[8 May 2023] Mia: Mostly salmon")


def test_tuning_ranks_like_the_product(sample: Sample) -> None:
    given = corpus(sample, HashingEmbedder())
    assert evidence(given).rankings(FusionWeights()) == product(
        given, mode=Mode.HYBRID, recency_weight=0.0, facts=True
    )
