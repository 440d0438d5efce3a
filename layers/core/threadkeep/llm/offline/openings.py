"""What stands in front of a clause and is no part of its statement: greetings, times, topics."""

from __future__ import annotations

import re

_OPENING = re.compile(
    r"(?:(?:hi|hey|hello|thanks|thank you|dear)\s+[A-Z][\w-]+\s*[,!]\s*"
    r"|(?:hi|hey|hello|ok|okay|oh|well|so|yes|yeah|yep|yup|no|nope|sure|thanks(?: a lot| so much)?"
    r"|thank you|btw|by the way|actually|honestly|also|and|but|plus|anyway|fyi|note|please note"
    r"|please remember|remember|don't forget|keep in mind|just so you know|for the record|in fact"
    r"|to be honest|as you know|you know|lol|haha|wow|great|cool|nice|awesome|perfect|right|anyways"
    r"|my (?:doctor|dentist|therapist|physio|optician|gp) (?:says|said|told me|confirmed)"
    r"|one more thing|update|correction|quick update|for context|context|about me|fun fact)"
    r"(?:\s+(?:there|all|again|team|everyone))?(?:\s+that)?(?:\s*[,:!.–-]+\s*|\s+))",
    re.IGNORECASE,
)
_TIME_FIRST = re.compile(
    r"(?:yesterday|today|tonight|this (?:morning|week|month|year|summer|winter|spring|fall)"
    r"|last (?:night|week|month|year|summer|winter|spring|fall|[a-z]+day)|in (?:[A-Z][a-z]+ )?\d{4}"
    r"|in (?:January|February|March|April|May|June|July|August|September|October|November|December)"
    r"|(?:a|an|one|two|three|four|five|six|seven|eight|nine|ten|\d+|a few|a couple of) "
    r"(?:day|week|month|year)s? ago|on [A-Z][a-z]+day|these days|right now|for now|at the moment"
    r"|currently|recently|lately|nowadays|since \d{4}|since last \w+|as of (?:today|now|\w+)"
    r"|from now on|the other day)\s*,?\s+",
    re.IGNORECASE,
)
_TOPIC = re.compile(
    r"(?:for|as for|when it comes to|regarding|in terms of)\s+(?P<topic>[^,]{2,30}),\s+"
    r"|(?:at|in|on|after|before|outside of|besides|apart from|during|with)\s+[^,]{1,40},\s+",
    re.IGNORECASE,
)


def without_opening(text: str) -> tuple[str, str]:
    """Return a clause without greetings, fillers and times in front, and the topic in front."""
    text, topic = text.strip(), ""
    while True:
        match = _OPENING.match(text) or _TIME_FIRST.match(text) or _TOPIC.match(text)
        if match is None:
            return text, topic
        topic = (match.groupdict().get("topic") or topic).strip()
        text = text[match.end() :]
