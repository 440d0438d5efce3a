"""Word stems for lexical search."""

from functools import lru_cache

from snowballstemmer import stemmer

_ENGLISH = stemmer("english")


@lru_cache(maxsize=1 << 16)
def english_stem(word: str) -> str:
    """Return the stem of a word by the Snowball rules for English (Porter2).

    Words of other languages mostly stay as they are; what changes, changes alike in query and
    document. Words with digits are names and codes, never inflected.
    """
    if not word.isalpha():
        return word
    return str(_ENGLISH.stemWord(word))
