"""Which part of a user's message are the user's own words, and where a quote stands in it."""

from __future__ import annotations

import re

from threadkeep.domain.prompting import without_recall
from threadkeep.domain.redaction import redact

OMITTED = "[…]"
"""Stands for what was left out, so that no quote spans over it."""

# Blocks that clients and frameworks put into user messages: memory, context, system text.
_INJECTED = re.compile(
    r"<(?P<tag>(?:recalled|retrieved|relevant|user|long[_-]?term|system|agent)?[_-]?"
    r"(?:memory|memories|context|instructions|reminder|documents?|system))\b[^>]{0,200}>"
    r"[\s\S]*?(?:</(?P=tag)\s*>|\Z)"
    r"|^[ \t]*\[(?:recalled |relevant |retrieved |long-term )?"
    r"(?:memory|memories|context|system|notes?)\b[^\]\n]*\].*$"
    r"|^[ \t#*]{0,8}(?:relevant|recalled|retrieved|long-term|user)?[ \t]{0,8}"
    r"(?:memory|memories|context|facts)(?: about (?:the )?user)?[ \t*]{0,8}:[ \t*]{0,8}\n"
    r"(?:[ \t]*(?:[-*•]|\d+[.)]) .*(?:\n|\Z))+",
    re.IGNORECASE | re.MULTILINE,
)

# One character of a typographic variant for one of the plain form, so that places stay the same.
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("’‘‛", "'"),
        **dict.fromkeys("“”„‟", '"'),
        **dict.fromkeys("–—‐‑", "-"),
    }
)


def own_words(content: str) -> str:
    """Return a user's message without injected memory, context and system text, and secrets."""
    return redact(_INJECTED.sub(OMITTED, without_recall(content)))


def find_quote(quote: str, text: str) -> str | None:
    """Return the stretch of a text that a quote repeats, verbatim, or None if there is none.

    White space, typographic quotes and dashes, and case may differ; nothing else.
    """
    words = quote.translate(_PLAIN).split()
    if not words:
        return None
    pattern = r"\s+".join(re.escape(word) for word in words)
    found = re.search(pattern, text.translate(_PLAIN), re.IGNORECASE)
    return text[found.start() : found.end()] if found else None
