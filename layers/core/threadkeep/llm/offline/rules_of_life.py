"""What clauses state of tastes, lasting facts, goals and events."""

from __future__ import annotations

from threadkeep.domain.entities import EntityType as T
from threadkeep.domain.relations import RelationType as R
from threadkeep.llm.offline.grammar import Rule, any_of, row, rules
from threadkeep.llm.offline.lexicon import (
    BELONGINGS,
    DEMONYMS,
    GOAL_VERBS,
    HEALTH,
    NICE,
    PETS,
    PLURAL_KIN,
    ROLES,
    TIRESOME,
    TRAIT_NOUNS,
    TRAITS,
)
from threadkeep.llm.offline.objects import Shape

_PREFERENCE = Rule(R.PREFERS, T.PREFERENCE, Shape.PHRASE, 0.65, be=None)
_DISLIKE = Rule(
    R.RELATED_TO, T.PREFERENCE, Shape.PHRASE, 0.7, name="dislikes {obj}", says="dislikes"
)
_GOAL = Rule(R.HAS_GOAL, T.GOAL, Shape.ACTION, 0.6, be=None)
_FACT = Rule(R.RELATED_TO, T.FACT, Shape.ACTION, 0.7)
_HEALTH = Rule(R.RELATED_TO, T.FACT, Shape.NAME, 0.95, be=None)
_EVENT = Rule(R.RELATED_TO, T.FACT, Shape.ACTION, 0.4, event=True)

_HAVE = "(?:have|has|got|own|owns)"
_KIND = (
    r"(?:(?:an?|my|his|her|two|three|four|five|\d+|new|little|young|old|big|small|adult|grown"
    r"|older|younger|elder|[a-z]+ed|[a-z-]+-old)_){1,4}(?:[\w-]+\s)?"
)
_STATE_ENDS = r"(?=\s*(?:[,.!;]|$|and\s|but\s|since\s|for\s|now\s|because\s))"

_LIKED = {"relation": R.PREFERS, "name": "{obj}", "says": ""}

TASTES = (
    *rules(
        _DISLIKE,
        row(r"(?:hate|hates|dislike|dislikes|detest|detests|despise|despises)_OBJ"),
        row(r"stand_OBJ", negative=True, can=None),
        row(rf"find_(?P<obj>.+?)_{any_of(TIRESOME)}(?!\w)"),
        row(rf"find_(?P<obj>.+?)_{any_of(NICE)}(?!\w)", **_LIKED),
        row(r"(?:like|likes|enjoy|enjoys)_OBJ", negative=True),
        row(r"(?:a_)?(?:big_|huge_)?fan_of_OBJ", be=True, negative=True),
    ),
    *rules(
        _PREFERENCE,
        row(
            r"(?:like|likes|prefer|prefers|drink|drinks|take|takes)_(?:my|his|her|their)_"
            r"(?P<noun>coffee|tea|steak|eggs|whisky|whiskey|pizza)_(?P<obj>[a-z]+)\s*$",
            name="{obj} {noun}",
        ),
        row(
            r"(?:prefer|prefers|preferring)_(?P<obj>.+?)(?:_(?:over|to)_.+)?$",
            importance=0.7,
        ),
        row(r"(?:love|loves|adore|adores)_(?:to_)?OBJ", be=False, importance=0.7),
        row(r"(?:like|likes|enjoy|enjoys)_(?:to_)?OBJ", be=False),
        row(r"(?:loving|liking|enjoying)_OBJ"),
        row(r"(?:an?_)?(?:\w+_)?(?:fan|lover|enthusiast)_of_OBJ", be=True),
        row(
            r"(?:fond_of|into|keen_on|crazy_about|obsessed_with|passionate_about|hooked_on)_OBJ",
            be=True,
        ),
        row(r"(?:drink|drinks|drinking)_(?!my\b)OBJ", importance=0.5),
        row(r"interested_in_OBJ", be=True),
        row(r"(?:have|has)_an?_(?:real_)?(?:passion|soft_spot|weakness)_for_OBJ"),
        row(
            r"(?:listen_to|listens_to|subscribe_to|subscribes_to|eat|eats|wear|wears|order|orders"
            r"|cook|cooks|support|supports)_(?!my\b)OBJ",
            be=False,
            importance=0.5,
        ),
        row(
            r"(?:go|goes)_(?P<obj>(?:climbing|swimming|running|hiking|skiing|surfing|cycling|fishing"
            r"|dancing|bouldering|sailing|camping|jogging)\b)",
            be=False,
        ),
        row(r"(?:collect|collects|collecting)_OBJ", name="collecting {obj}"),
    ),
)

GOALS = rules(
    _GOAL,
    row(
        r"(?:want|wants|hope|hopes|hoping|plan|plans|planning|aim|aims|aiming|intend|intends"
        rf"|trying)_to_(?P<obj>{any_of(GOAL_VERBS)}(?![\w-]).*)"
    ),
    row(r"(?:training|preparing|practicing|practising|studying)_for_OBJ", name="prepare for {obj}"),
    row(r"saving_(?:up_|money_)?for_OBJ", name="save for {obj}"),
    row(r"working_towards?_OBJ"),
)

FACTS = (
    *rules(
        _HEALTH,
        row(r"allergic_to_OBJ", be=True, name="allergic to {obj}"),
        row(rf"{_HAVE}_an?_(?:\w+_)?allergy_to_OBJ", name="allergic to {obj}"),
        row(
            rf"{_HAVE}_an?_(?:severe_|bad_|mild_)?(?P<obj>[\w-]+)_allergy",
            name="allergic to {obj}",
        ),
        row(
            r"(?:eat|have|drink|tolerate|digest)_OBJ",
            be=False,
            negative=True,
            can=True,
            name="can not have {obj}",
        ),
        row(r"(?P<obj>(?:\w+[ -])?intolerant(?:_to_\w+)?)", be=True),
        row(
            rf"(?:{_HAVE}|suffer_from|suffers_from|diagnosed_with)_(?:an?_)?"
            rf"(?P<obj>(?:[\w-]+_){{0,3}}?{any_of(HEALTH)})(?![\w-])",
            name="has {obj}",
        ),
    ),
    *rules(
        _FACT,
        row(rf"(?P<obj>{any_of(TRAITS)}){_STATE_ENDS}", be=True),
        row(
            rf"an?_(?P<obj>(?:[\w-]+\s+){{0,2}}?(?:{any_of(TRAIT_NOUNS)}"
            r"|(?:morning|night|cat|dog|people|early)[ -](?:person|owl|bird)))(?![\w-])",
            be=True,
        ),
        row(rf"(?P<obj>(?:half[ -])?{any_of(DEMONYMS)}){_STATE_ENDS}", be=True),
        row(
            r"(?:more_of_)?an?_(?P<obj>(?:tea|coffee|beach|mountain|city|country|book|movie)_person)",
            be=True,
        ),
        row(rf"(?P<obj>{any_of(TRAIT_NOUNS)}s){_STATE_ENDS}", be=True),
        row(
            r"(?:afraid|scared|terrified)_of_OBJ", be=True, shape=Shape.NAME, name="afraid of {obj}"
        ),
        row(r"to_OBJ", be=True, shape=Shape.PROPER, name="has been to {obj}"),
        row(
            r"(?:live|lives|living)_(?:just_)?(?:near|outside|close_to)_OBJ",
            shape=Shape.NAME,
            name="lives near {obj}",
        ),
        row(
            rf"have_(?:any_)?(?P<obj>{any_of(PETS | PLURAL_KIN)})(?![\w-])",
            negative=True,
            name="has no {obj}",
        ),
        row(rf"(?:have|has)_(?P<obj>no_{any_of(PETS | PLURAL_KIN)})(?![\w-])", name="has {obj}"),
        row(r"(?P<obj>[a-z]+ing\b.*)", over=True, name="stopped {obj}"),
        row(r"from_OBJ", be=True, shape=Shape.PROPER, name="from {obj}"),
        row(r"born_(?:and_raised_)?in_OBJ", be=True, shape=Shape.PROPER, name="born in {obj}"),
        row(r"grew_up_in_OBJ", shape=Shape.PROPER, name="grew up in {obj}"),
        row(r"(?P<obj>\d{1,3}_years?_old)", be=True),
        row(
            r"(?P<obj>(?:eat|drink|smoke|drive|cook|swim|fly)(?:_[\w -]+)?)",
            negative=True,
            name="does not {obj}",
        ),
        row(
            rf"{_HAVE}_(?P<obj>{_KIND}"
            rf"{any_of(PETS | PLURAL_KIN | ROLES | BELONGINGS)}(?![\w-]).*)",
            shape=Shape.NAME,
        ),
    ),
)

EVENTS = rules(
    _EVENT,
    row(
        r"(?P<obj>(?:went_(?:to|on|hiking|camping|swimming|skiing|surfing|climbing|fishing|back_to)"
        r"|visited|attended|bought|adopted|started|finished|completed|signed_up_for|joined(?!_in\b)|won"
        r"|graduated|passed|failed|launched|published|released|painted|built|baked|watched|read"
        r"|tried|hosted|organi[sz]ed|planted|sold|lost|broke|hurt|hired|applied|ordered|booked"
        r"|enrolled|volunteered|donated|performed|received|celebrated|created|wrote|turned_\d+|lived|studied"
        r"|taught|met_with|worked_(?:at|for|in|as|with)|travell?ed|flew_to|moved|renovated|repaired"
        r"|gave_(?:a|an|my)_(?:\w+_)?(?:talk|presentation|speech|concert|lecture)"
        r"|took_(?:up|part_in|a_(?:class|course|trip))"
        r"|had_(?:surgery|an_(?:interview|operation|accident)|a_(?:baby|meeting|miscarriage))"
        r"|ran_(?:an?|the|my)_(?:\w+_)*(?:marathon|race|5k|10k)"
        r"|got_(?:promoted|married|engaged|divorced|hired|accepted|fired|laid_off|my_|an?_new_))"
        r"(?!_?(?:it|that|this|them|him|her|you|there|to_know)\b)(?:_?.+|$))"
    ),
    row(
        r"(?P<obj>(?:born|promoted|hired|accepted|diagnosed|laid_off|elected|invited)\b.*)",
        be=True,
        importance=0.6,
    ),
)
