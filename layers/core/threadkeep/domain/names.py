"""How names are compared: the name key."""

import re
import unicodedata

_WHITE_SPACE = re.compile(r"\s+")


def name_key(name: str) -> str:
    """Return the form under which two names are the same name.

    NFKC, case folding and white-space folding (Unicode Standard Annex 15 and section 3.13). Case
    folding can undo normalisation, so NFKC runs again afterwards; the result is a fixed point of
    this function.

    Args:
        name: Any Unicode text.

    Returns:
        The folded name; longer than ``name`` for some scripts (U+FDFA alone becomes 18 characters).
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return _WHITE_SPACE.sub(" ", folded).strip()
