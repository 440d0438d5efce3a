"""Removing secrets from text before anything of it is kept.

No pattern uses ``\\b``: beside Chinese, Japanese or Korean text, whose characters are word
characters too, it does not match, and a key written next to them would be kept.
"""

import re

MARK = "[redacted]"

_BEFORE, _AFTER = r"(?<![A-Za-z0-9_])", r"(?![A-Za-z0-9_])"

_TOKENS = re.compile(
    "|".join(
        [
            # Private keys and certificates in PEM form, also when their end is missing.
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
            # JSON web tokens: header and payload are base64url of "{", the signature may be empty.
            rf"{_BEFORE}eyJ[\w-]{{8,}}\.eyJ[\w-]{{4,}}\.[\w-]*",
            # AWS access key ids (IAM user guide, "unique ID prefixes").
            rf"{_BEFORE}(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{{16}}{_AFTER}",
            # Keys with a maker's prefix: OpenAI and Anthropic, Stripe, GitHub, GitLab, Slack, npm,
            # PyPI, Google, SendGrid, Hugging Face.
            rf"{_BEFORE}sk-[A-Za-z0-9_-]{{16,}}",
            rf"{_BEFORE}[srp]k_(?:live|test)_[A-Za-z0-9]{{10,}}",
            rf"{_BEFORE}gh[pousr]_[A-Za-z0-9]{{20,}}",
            rf"{_BEFORE}github_pat_[A-Za-z0-9_]{{20,}}",
            rf"{_BEFORE}glpat-[A-Za-z0-9_-]{{16,}}",
            rf"{_BEFORE}xox[abeoprs]-[A-Za-z0-9-]{{10,}}",
            rf"{_BEFORE}npm_[A-Za-z0-9]{{30,}}",
            rf"{_BEFORE}pypi-[A-Za-z0-9_-]{{30,}}",
            rf"{_BEFORE}AIza[A-Za-z0-9_-]{{35}}",
            rf"{_BEFORE}SG\.[A-Za-z0-9_-]{{16,}}\.[A-Za-z0-9_-]{{16,}}",
            rf"{_BEFORE}hf_[A-Za-z0-9]{{30,}}",
        ]
    ),
    re.ASCII,
)

_LABEL = (
    r"pass(?:word|phrase|code)|passwd|pwd|pin(?:[ _-]?code)?(?=\D{1,8}\d{3})"
    r"|secret[ _-]?(?:access[ _-]?)?key|api[ _-]?key|access[ _-]?(?:key|token)|auth[ _-]?token"
    r"|client[ _-]?secret|private[ _-]?key"
    r"|密码|密碼|口令|密钥|密鑰|パスワード|暗証番号|비밀번호|пароль|contraseña|kennwort|passwort"
    r"|mot de passe"
)
_LABELLED = re.compile(
    rf"(?<![A-Za-z])(?:{_LABEL})(?![A-Za-z])(?:\s+(?:for|to|of|on)\s+[^\s:=]+){{0,3}}"
    r"(?P<link>[\"']?\s*[:=：＝]\s*|\s+is:?\s+|\s+was:?\s+|\s*[是为為は]\s*)"
    r"(?:[\"'`「“](?P<quoted>[^\"'`」”\n]+)|(?P<value>[^\s\"'`」”，。、；]+))",
    re.IGNORECASE,
)
_NOT_A_VALUE = re.compile(
    r"(?:a|an|the|my|your|not|no|too|so|very|in|on|at|of|for|to|about|being|set|been|still|now|there|it|"
    r"always|just|also|only|what|where|how|that|this|something|hard|easy|long|short|strong|"
    r"weak|wrong|right|correct|incorrect|invalid|valid|expired|expiring|required|missing|"
    r"empty|lost|stored|saved|changed|reset|the same|safe|secret|private|important|什么|什麼)"
    r"[.,!?;]*",
    re.IGNORECASE,
)
_BEARER = re.compile(rf"{_BEFORE}(?P<scheme>Bearer|Basic)\s+[A-Za-z0-9+/=_.~-]{{16,}}", re.ASCII)
_URL_USER = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]{1,20}://[^\s:/@]*):[^\s/@]+@", re.IGNORECASE)


def redact(text: str) -> str:
    """Replace every secret in a text by ``[redacted]``; all else stays as it is.

    Secrets are access keys, tokens, private keys, passwords in URLs, and what follows a label such
    as "password is" or "密码是".

    Args:
        text: Any Unicode text.

    Returns:
        The text without secrets. Redacting it again changes nothing.
    """
    text = _TOKENS.sub(MARK, text)
    text = _BEARER.sub(rf"\g<scheme> {MARK}", text)
    text = _URL_USER.sub(rf"\g<scheme>:{MARK}@", text)
    return _LABELLED.sub(_without_value, text)


def _without_value(match: re.Match[str]) -> str:
    group = "value" if match["value"] else "quoted"
    value = match[group]
    by_sentence = not re.search("[:=：＝]", match["link"])
    if value.startswith(MARK) or (by_sentence and _NOT_A_VALUE.fullmatch(value)):
        return match[0]
    kept = match[0][: match.start(group) - match.start()]
    closing = re.search(r"[.,!?;)\]}]*$", value)
    return kept + MARK + (closing[0] if closing else "")
