"""The extractor of the offline model: it reads plain statements by rules, and nothing else."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from threadkeep.domain.conversations import Role, Usage
from threadkeep.llm.dates import zone_of
from threadkeep.llm.language import guess_language
from threadkeep.llm.offline.chinese import read_chinese
from threadkeep.llm.offline.notebook import Notebook
from threadkeep.llm.offline.reader import TurnReader
from threadkeep.llm.own_words import own_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from threadkeep.domain.conversations import Message
    from threadkeep.domain.extraction import Extraction

RULES_VERSION = "rules-1"
"""Rises when the rules read a turn differently."""


class RuleExtractor:
    """Reads what users plainly say of themselves and of others, in English and in some Chinese."""

    @property
    def prompt_hash(self) -> str:
        """sha256 of the version of the rules, which stand in a prompt's place."""
        return hashlib.sha256(RULES_VERSION.encode()).hexdigest()

    def extract(
        self,
        model_id: str,
        messages: Sequence[Message],
        *,
        instructions: str,
        zone: str,
        known_names: Sequence[str] = (),
    ) -> tuple[Extraction, Usage]:
        """Read the statements of the user's turns; instructions and known names change nothing."""
        notebook = Notebook(zone_of(zone))
        reader = TurnReader(notebook)
        for message in messages:
            if message.role is not Role.USER:
                continue
            text = own_words(message.content)
            notebook.begin(message.id, message.created_at, text)
            if guess_language(text) == "zh":
                read_chinese(text, notebook)
            else:
                reader.read(text)
        return notebook.extraction(), Usage()
