"""What OpenSearch holds: the mapping of an index, and documents on their way in and out."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from threadkeep.domain.lexical import LexicalIndex
from threadkeep.search.halves import half_of
from threadkeep.search.stemming import english_stem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from threadkeep.domain.retrieval import Document, DocumentKind

MAPPING_VERSION = 1
"""Part of a generation's name: raise it when a document of before can not be searched any more."""

MAX_TERM_CHARS = 100
"""Longer terms become a digest: the engine cuts words at 255 UTF-16 units."""

SCORED = [
    "ref", "revision", "half", "terms", "around", "terms_count", "around_count", "speaker",
    "touched", "undated",
]  # fmt: skip
"""What of a hit is needed to score it again."""

_tokenizer = LexicalIndex(english_stem)


def settings(replicas: int | None = None) -> dict[str, Any]:
    """Return the settings of an index; replicas are the engine's to choose unless told."""
    index: dict[str, Any] = {"knn": True, "refresh_interval": "1s"}
    return {"index": index | ({} if replicas is None else {"number_of_replicas": replicas})}


def mapping(dimension: int, meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mapping of an index.

    Words come as the terms that the exact back end uses, so that both find the same; the engine
    only splits them at blanks. Times are seconds since 1970. Unknown fields are kept and not
    indexed, so that one release can write for the next.

    Args:
        dimension: Length of the vectors.
        meta: What the index was made with.
    """
    keyword, terms = {"type": "keyword"}, {"type": "text", "analyzer": "whitespace"}
    count, seconds, flag = {"type": "integer"}, {"type": "double"}, {"type": "boolean"}
    return {
        "dynamic": False,
        "_meta": dict(meta),
        "properties": {
            "user": keyword,
            "kind": keyword,
            "ref": keyword,
            "revision": {"type": "long"},
            "deleted": flag,
            "deleted_at": seconds,
            "entity_type": keyword,
            "speaker": keyword,
            "turns": keyword,
            "terms": terms,
            "around": terms,
            "terms_count": count,
            "around_count": count,
            "created": seconds,
            "touched": seconds,
            "fresh": seconds,
            "expires": seconds,
            "undated": flag,
            "vector": {
                "type": "knn_vector",
                "dimension": dimension,
                "method": {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"},
            },
            # The same as float16, from which final scores are computed.
            "half": {"type": "binary"},
        },
    }


def document_id(user_id: str, ref: str) -> str:
    """Return the engine's id of a user's document; ids are limited in length, refs are not."""
    return hashlib.sha256(f"{len(user_id)}:{user_id}{ref}".encode()).hexdigest()


def terms_of(text: str) -> list[str]:
    """Return the terms of a text as the index holds them, in order."""
    return [_short(term) for term in _tokenizer.terms(text)]


def _short(term: str) -> str:
    if len(term) <= MAX_TERM_CHARS:
        return term
    return "sha256" + hashlib.sha256(term.encode()).hexdigest()


def source_of(user_id: str, document: Document, dimension: int) -> dict[str, Any]:
    """Return a document as the engine stores it.

    A vector without a direction is left out: the engine refuses it, and its similarity is 0.

    Raises:
        ValueError: The vector has another dimension, or a number in it is not finite.
    """
    half = half_of(document, dimension)
    terms, around = terms_of(document.text), terms_of(document.context)
    created, touched = document.created_at.timestamp(), document.touched_at.timestamp()
    source: dict[str, Any] = {
        "user": user_id,
        "kind": document.kind.value,
        "ref": document.ref,
        "revision": document.revision,
        "deleted": False,
        "speaker": document.speaker,
        "turns": list(document.turns),
        "terms": " ".join(terms),
        "around": " ".join(around),
        "terms_count": len(terms),
        "around_count": len(around),
        "created": created,
        "touched": touched,
        "fresh": max(created, touched),
        "undated": document.time_precision == "year",
    }
    if document.entity_type is not None:
        source["entity_type"] = document.entity_type.value
    if document.expires_at is not None:
        source["expires"] = document.expires_at.timestamp()
    if half is not None:
        source["vector"] = half.astype(np.float64).tolist()
        source["half"] = base64.b64encode(half.tobytes()).decode()
    return source


def tombstone_of(user_id: str, ref: str, revision: int, at: datetime) -> dict[str, Any]:
    """Return what stays of a removed document, so that late writes of it are refused.

    The engine itself forgets the version of a delete after a minute (``index.gc_deletes``).
    """
    return {
        "user": user_id,
        "ref": ref,
        "revision": revision,
        "deleted": True,
        "deleted_at": at.timestamp(),
    }


@dataclass(frozen=True)
class Scorable:
    """What scoring needs of a document, be it of the index or pending.

    Args:
        half: Its vector, or None.
        terms: Terms of its text.
        around: Terms of its context.
    """

    kind: DocumentKind
    ref: str
    revision: int
    half: NDArray[np.float16] | None
    terms: Sequence[str]
    around: Sequence[str]
    speaker: str
    touched: float
    undated: bool

    @classmethod
    def of_hit(cls, kind: DocumentKind, source: Mapping[str, Any]) -> Scorable:
        """Read a hit's ``_source`` with the fields ``SCORED``."""
        half = source.get("half")
        return cls(
            kind=kind,
            ref=source["ref"],
            revision=source["revision"],
            half=None if half is None else np.frombuffer(base64.b64decode(half), "<f2"),
            terms=source["terms"].split(),
            around=source["around"].split(),
            speaker=source["speaker"],
            touched=source["touched"],
            undated=source["undated"],
        )

    @classmethod
    def of_document(cls, document: Document, dimension: int) -> Scorable:
        """Take a pending document as it would be stored."""
        return cls(
            kind=document.kind,
            ref=document.ref,
            revision=document.revision,
            half=half_of(document, dimension),
            terms=terms_of(document.text),
            around=terms_of(document.context),
            speaker=document.speaker,
            touched=document.touched_at.timestamp(),
            undated=document.time_precision == "year",
        )
