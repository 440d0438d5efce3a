"""Guessing the language of a turn, by script and by its most common words."""

from __future__ import annotations

import re

_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),  # kana: Han alone would be Chinese
    ("ko", re.compile(r"[\uac00-\ud7af\u1100-\u11ff]")),
    ("zh", re.compile(r"[\u3400-\u9fff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("uk", re.compile(r"[іїєґІЇЄҐ]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
)
_LETTER = re.compile(r"[^\W\d_]")

# Words that are common in one language and rare in the others of the table.
_COMMON_WORDS = {
    "en": "the i i'm my is and you to of it's for with at that this we have am are was name",
    "de": "ich der die das und ist nicht mein meine bei mit ein eine für auf bin habe wir sie",
    "fr": "je le les des est et pas mon ma dans avec une j'ai suis pour vous nous que chez du",
    "es": "yo el los las es y mi en con una soy me gusta para por que estoy trabajo muy del",
    "it": "io il gli è e mio mia con una sono mi piace per che ho lavoro di nel della ciao",
    "pt": "eu o os as é e meu minha em com uma sou gosto para que estou trabalho não do da",
    "nl": "ik de het een en is niet mijn bij met ben heb wij voor op van dat ook woon werk",
}
_WORDS = {tag: frozenset(words.split()) for tag, words in _COMMON_WORDS.items()}


def guess_language(text: str) -> str | None:
    """Return the BCP 47 tag of a text's likely language, or None if nothing tells.

    A script other than Latin decides if at least a fifth of the letters are of it: names and terms
    in Latin letters are common in texts of any language.
    """
    letters = len(_LETTER.findall(text))
    if letters == 0:
        return None
    for tag, script in _SCRIPTS:
        if 5 * len(script.findall(text)) >= letters:
            return tag
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", text.replace("’", "'").casefold())
    counts = {tag: sum(word in common for word in words) for tag, common in _WORDS.items()}
    best = max(counts, key=lambda tag: counts[tag])
    return best if counts[best] > 0 else None
