"""The chat model that needs no network: it quotes what was recalled or said, nothing else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from threadkeep.domain.conversations import Role, Usage
from threadkeep.domain.models import OFFLINE_MODEL
from threadkeep.domain.prompting import RECALL_MARK
from threadkeep.llm.language import guess_language
from threadkeep.llm.offline.lexicon import STOP_WORDS
from threadkeep.llm.own_words import own_words
from threadkeep.ports import ChatAnswer, ChatRequest

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_QUOTES = 3
_MAX_QUOTE_CHARS = 300
_PHRASES = {
    "en": {
        "recalled": "From memory: {quotes}",
        "closest": "Nothing in memory has those words; the closest is: {quotes}",
        "said": "Earlier in this conversation you said: {quotes}",
        "unknown": "I have nothing on that. I am Threadkeep's offline rule-based model: I can quote"
        " what you told me, not reason or look things up.",
        "noted": "I have read that. I am Threadkeep's offline rule-based model: I can quote it back"
        " to you, not discuss it.",
    },
    "zh": {
        "recalled": "我记得：{quotes}",
        "closest": "记忆中没有相同的字词，最接近的是：{quotes}",
        "said": "您在这次对话中说过：{quotes}",
        "unknown": "我没有这方面的记录。我是 Threadkeep 的离线规则模型，只能引用您说过的话。",
        "noted": "我已读到。我是 Threadkeep 的离线规则模型，只能引用您说过的话。",
    },
}
_QUESTION = re.compile(
    r"[?？]|[吗呢]\s*$|^\s*(?:what|which|who|whose|where|when|why|how|do|does|did|is|are|am|was|were"
    r"|can|could|should|would|will|have|has|tell me|remind me|list|show|recommend|suggest)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")
_HAN = re.compile(r"[\u3400-\u9fff]")


class OfflineChat:
    """Answers by quoting: first from recalled memory, then from the conversation.

    Nothing is made up. Where nothing fits, the answer says that this is a rule-based model.
    """

    def answer(self, request: ChatRequest) -> ChatAnswer:
        """Answer once; never fails."""
        content, stop_reason = _within(_reply(request), request.max_output_tokens)
        texts = [*request.system, request.context, *(m.content for m in request.messages)]
        return ChatAnswer(
            content=content,
            stop_reason=stop_reason,
            usage=Usage(
                input_tokens=sum(map(count_words, texts)), output_tokens=count_words(content)
            ),
            model_id=OFFLINE_MODEL,
        )


def count_words(text: str) -> int:
    """Return the tokens of a text as this model counts them: words between white space."""
    return len(text.split())


def _reply(request: ChatRequest) -> str:
    said = [message.content for message in request.messages if message.role is Role.USER]
    asked = own_words(said[-1]) if said else ""
    phrases = _PHRASES["zh" if guess_language(asked) == "zh" else "en"]
    if not _QUESTION.search(asked):
        return phrases["noted"]
    recalled = _lines(request.context)
    fitting = _best(asked, recalled)
    if fitting:
        return phrases["recalled"].format(quotes="; ".join(fitting))
    earlier = _best(asked, [text for text in said[:-1] if not _QUESTION.search(text)])
    if earlier:
        return phrases["said"].format(quotes="; ".join(f"“{text}”" for text in earlier))
    if recalled:
        return phrases["closest"].format(quotes="; ".join(recalled[:_MOST_QUOTES]))
    return phrases["unknown"]


def _lines(context: str) -> list[str]:
    """Return the notes of a recall block, best first, without its heading."""
    lines = [line.strip() for line in context.splitlines() if line.strip()]
    marked = [line.removeprefix(RECALL_MARK).strip() for line in lines]
    if len(lines) > 1 and lines[0].startswith(RECALL_MARK):
        marked = marked[1:]
    return [_short(line) for line in marked if line]


def _best(asked: str, texts: Iterable[str]) -> list[str]:
    """Return the texts that share most words with a question, at most three, in their order."""
    words = _stems(asked)
    scores = {_short(text): len(words & _stems(text)) for text in texts}
    ranked = sorted((text for text in scores if scores[text]), key=lambda text: -scores[text])
    kept = set(ranked[:_MOST_QUOTES])
    return [text for text in scores if text in kept]


def _stems(text: str) -> set[str]:
    """Return what two texts on the same thing share: words without endings, Han characters."""
    words = {word.casefold() for word in _WORD.findall(text)} - STOP_WORDS
    stems = {re.sub(r"(?:ing|ed|es|s)$", "", word) if len(word) > 4 else word for word in words}
    return stems | set(_HAN.findall(text))


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_QUOTE_CHARS else f"{text[: _MAX_QUOTE_CHARS - 1]}…"


def _within(text: str, most_words: int) -> tuple[str, str]:
    words = text.split(" ")
    if len(words) <= most_words:
        return text, "end_turn"
    return " ".join(words[: max(most_words, 1)]), "max_tokens"
