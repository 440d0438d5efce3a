"""What clauses state of work, places, people, tools and skills."""

from __future__ import annotations

from dataclasses import replace

from threadkeep.domain.entities import EntityType as T
from threadkeep.domain.relations import RelationType as R
from threadkeep.llm.offline.grammar import Rule, any_of, row, rules
from threadkeep.llm.offline.lexicon import (
    BUSINESSES,
    HOBBIES,
    LANGUAGES,
    PLURAL_KIN,
    ROLES,
    TECHNOLOGIES,
)
from threadkeep.llm.offline.objects import Shape

_PROJECT = Rule(R.WORKS_ON, T.PROJECT, Shape.PROPER, 0.7, be=None)
_EMPLOYER = Rule(R.WORKS_AT, T.ORGANIZATION, Shape.PROPER, 0.85)
_JOB = Rule(R.RELATED_TO, T.FACT, Shape.NAME, 0.75, says="works as")
_PLACE = Rule(R.LOCATED_IN, T.LOCATION, Shape.PROPER, 0.8)
_PERSON = Rule(R.KNOWS, T.PERSON, Shape.PROPER, 0.6)
_TOOL = Rule(R.USES, T.CONCEPT, Shape.NAME, 0.6, be=None)
_SKILL = Rule(R.KNOWS, T.SKILL, Shape.NAME, 0.6)
_LEARNING = replace(_SKILL, relation=R.RELATED_TO, says="is learning", be=None)

_WORK = "(?:work|works|working)"
_HOURS = r"(?:(?:full|part)[ -]time_|remotely_|here_)?"
_PROJECT_NAME = r"(?:the_)?project_.+|(?:the_)?[a-z]+-?\d+(?![\w-])"

WORK = (
    *rules(
        _PROJECT,
        row(
            rf"(?:moved|switched)_from_(?P<old>.+?)_to_(?P<obj>{_PROJECT_NAME})",
            replaces=True,
        ),
        row(r"(?:reassigned|transferred)_from_(?P<old>.+?)_to_OBJ", replaces=True),
        row(r"(?:reassigned|transferred)_to_OBJ", replaces=True),
        row(rf"(?:moved|switched)_(?:over_)?to_(?P<obj>{_PROJECT_NAME})", replaces=True),
        row(
            r"(?:moved|switched|transferred)_(?:over_)?to_"
            r"(?P<obj>(?:the_)?[\w -]+_(?:project|team))",
            shape=Shape.NAME,
            replaces=True,
        ),
        row(r"(?:reassigned|removed|taken_off)_(?:from_)?OBJ", ends=True),
        row(r"assigned_to_OBJ"),
        row(
            r"(?:finished|completed|shipped|wrapped_up|delivered)_(?P<obj>project_.+)",
            be=False,
            ends=True,
        ),
        row(rf"{_WORK}_on_(?P<obj>(?:the_|our_|my_)?(?:project_)?CAP.*)"),
        row(rf"{_WORK}_on_(?P<obj>(?:an?|my|our|the)_.+)", shape=Shape.PHRASE),
        row(
            r"(?:building|writing|developing|creating|renovating|restoring|designing)_"
            r"(?P<obj>(?:an?|my|our|the)_.+)",
            be=True,
            shape=Shape.PHRASE,
            importance=0.55,
        ),
        row(r"(?:lead|leads|leading|manage|manages|managing)_(?P<obj>(?:the_)?project_.+)"),
    ),
    *rules(
        _EMPLOYER,
        row(rf"{_WORK}_{_HOURS}as_ROLE_(?:at|for|with)_OBJ", be=None),
        row(
            rf"{_WORK}_{_HOURS}(?:at|for)_"
            r"(?!home\b|night|weekends|myself|free\b|an?\s|the\s+(?:same|first))(?P<obj>\D.*)",
            be=None,
        ),
        row(r"employed_(?:at|by|with)_OBJ", be=True),
        row(r"(?P<role>(?:an?|the)_JOB)_(?:at|for|with)_OBJ", be=True),
        row(r"ROLE_at_(?P<obj>CAP.*)", be=True),
        row(
            r"(?:got|have|started|start|took|accepted|landed)_(?:a_|an_|my_|the_)?"
            r"(?:new_|dream_)*(?:job|role|position|internship|contract)_(?:as_ROLE_)?"
            r"(?:at|with)_OBJ",
            be=None,
        ),
        row(r"joined_OBJ_as_(?P<role>(?:an?|the|their)_.+)"),
        row(
            r"(?:quit|left|lost)_(?:my|his|her|their)_(?:job|position|role)_(?:at|with)_OBJ",
            ends=True,
        ),
        row(r"(?:resigned|retired|got_fired|got_laid_off)_from_OBJ", ends=True),
        row(r"(?:laid_off|fired)_(?:from|by)_OBJ", be=True, ends=True),
        row(r"(?:left|quit)_(?P<obj>CAP[\w&.-]*)\s*$", ends=True),
    ),
    *rules(
        _JOB,
        row(rf"{_WORK}_{_HOURS}as_(?P<obj>an?_.+)", be=None),
        row(
            r"(?:got|have|started|start|took|accepted|landed)_(?:a_|an_|my_)?(?:new_|dream_)*"
            r"(?:job|role|position|internship)_as_(?P<obj>an?_.+)",
        ),
        row(r"an?_(?P<obj>JOB)", be=True),
        row(rf"{_WORK}_in_(?P<obj>.+)", be=None, name="works in {obj}"),
        row(rf"{_WORK}_(?:at|for)_an?_(?!living\b)OBJ", be=None, name="works at {obj}"),
        row(r"(?:teach|teaches|teaching)_OBJ", be=None, name="teaches {obj}"),
        row(
            rf"(?:run|runs|own|owns|manage|manages|running)_"
            rf"(?P<obj>(?:an?|my|our)_(?:[\w-]+_){{0,3}}{any_of(BUSINESSES)})(?![\w-])",
            be=None,
            name="runs {obj}",
        ),
        row(
            r"(?:volunteer|volunteers|volunteering)_(?:at|for|with|in)_OBJ",
            be=None,
            name="volunteers at {obj}",
        ),
    ),
)

PLACES_AND_PEOPLE = (
    *rules(
        _PLACE,
        row(r"(?:live|lives|living|reside|resides|residing)_(?:alone_|here_)?in_OBJ", be=None),
        row(r"(?:based|located|headquartered)_(?:out_of|in)_OBJ", be=True),
        row(
            r"(?:moved|relocated|emigrated)_(?:back_|over_|house_|here_)?(?:from_.+?_)?to_OBJ",
            be=None,
        ),
        row(r"moved_(?:out_of|away_from)_OBJ", ends=True),
        row(r"in_(?P<obj>CAP.+?)_(?:now|these_days|nowadays|at_the_moment)\b", be=True),
    ),
    *rules(
        _PERSON,
        row(r"(?:best_|good_|close_)?friends_with_OBJ", be=True, says="friend"),
        row(r"married_to_OBJ", be=True, importance=0.85, says="spouse"),
        row(r"engaged_to_OBJ", be=True, importance=0.85, says="engaged"),
        row(r"dating_OBJ", be=True, importance=0.75, says="partner"),
        row(
            rf"(?:have|has)_an?_(?P<role>(?:\w+_)?{any_of(ROLES)})(?:_(?:named|called)_|,\s*|:\s*)OBJ"
        ),
        row(
            rf"(?:have|has|got)_(?:[\w-]+_){{1,3}}(?P<role>{any_of(PLURAL_KIN)})"
            r"(?:_(?:named|called)_|,\s*|:\s*|\s*\()OBJ",
        ),
        row(r"(?:report|reports)_to_OBJ", says="reports to"),
        row(rf"{_WORK}_(?:closely_)?with_OBJ", be=None, says="works with"),
        row(r"(?:met|know|knows)_(?!(?:that|how|what|why|where|about)\b)OBJ"),
    ),
)

TOOLS_AND_SKILLS = (
    *rules(
        _TOOL,
        row(
            r"(?:switched|migrated|switching|migrating)_(?:over_)?from_(?P<old>.+?)_to_OBJ",
            replaces=True,
        ),
        row(r"(?:switched|migrated)_(?:over_)?to_OBJ", replaces=True),
        row(r"(?:use|uses|using|rely_on|relies_on)_OBJ"),
        row(r"(?:drive|drives|driving)_(?P<obj>an?_.+)"),
        row(r"(?:own|owns)_(?P<obj>an?_CAP.*)"),
        row(rf"{_WORK}_with_(?P<obj>{any_of(TECHNOLOGIES)}(?![\w-]).*)"),
        row(r"(?:ditched|dropped|uninstalled|abandoned)_(?P<obj>CAP.*)", ends=True),
    ),
    *rules(
        _LEARNING,
        row(r"(?:learn|learns|learning)_(?:how_)?to_OBJ", shape=Shape.ACTION),
        row(r"(?:learn|learns|learning|studying|study|studies)_(?!for\b)OBJ"),
        row(
            r"(?:taking|take|takes|attending|doing)_"
            r"(?P<obj>(?:an?_)?[\w -]+?_(?:class|classes|course|courses|lessons))",
        ),
    ),
    *rules(
        _SKILL,
        row(
            r"(?:speak|speaks|speaking)_(?:a_(?:little|bit)_(?:of_)?|fluent_)?"
            rf"(?P<obj>{any_of(LANGUAGES)}(?!\w).*)",
            can=None,
        ),
        row(r"(?:play|plays)_(?!an?_(?:\w+_)?(?:role|part)\b)OBJ", can=None),
        row(r"(?:practice|practise|practices|practises|practicing|practising)_(?!for\b)OBJ"),
        row(rf"(?:do|does|doing)_(?P<obj>{any_of(HOBBIES)})(?![\w-])", be=None),
        row(r"(?:code|codes|program|programs)_in_OBJ", can=None),
        row(r"(?:fluent|proficient|experienced|skilled|good)_(?:in|at|with)_OBJ", be=True),
        row(rf"(?:know|knows)_(?P<obj>{any_of(TECHNOLOGIES | LANGUAGES)}(?![\w-]).*)"),
        row(r"(?:know|knows)_how_to_OBJ", shape=Shape.ACTION),
    ),
)
