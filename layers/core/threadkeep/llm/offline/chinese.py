"""Plain statements in Chinese, by patterns; names stay byte for byte as they are written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from threadkeep.domain.entities import EntityType as T
from threadkeep.domain.extraction import SELF_REF
from threadkeep.domain.redaction import MARK
from threadkeep.domain.relations import RelationType as R
from threadkeep.llm.offline.times import find_date

if TYPE_CHECKING:
    from threadkeep.llm.dates import StatedDate
    from threadkeep.llm.offline.notebook import Notebook

_SENTENCE = re.compile(r"[^。！？!?；;\n]+[。！？!?；;]?")
_CLAUSE = re.compile(r"[，,、](?=我|他|她|在|也|但|住|喜欢|来自)|[，,]|但是|而且|并且|不过|然后")
_NOT_ASSERTED = re.compile(
    r"[吗呢吧么]\s*[？?]?$|[？?]\s*$|如果|假如|要是|也许|可能|或许|大概|应该|什么|怎么|哪|谁|是不是|能不能"
    r"|可不可以|会不会|有没有|想象|假设|翻译"
)
_LIST = re.compile("和|、|以及")
_QUOTED = re.compile(r"[“「『\"][^”」』\"]*[”」』\"]")
_DEGREE = (
    "(?:很|非常|特别|最|真的|超级|比较|挺|也|还|都|一直|现在|目前|正在|已经|刚|刚刚|最近|平时|每天|经常|通常|其实"
    "|昨天|今天|去年|今年|上周|上个月)*"
)
_I = r"(?:我|本人)"
_OBJ = r"(?P<obj>[^，。！？,!?；;\s]{1,30}?)"
_END = r"(?:了|的|啊|呀|哦|哈)*$"


@dataclass(frozen=True)
class _Pattern:
    """What a clause says, and how it is stored; without a relation it tells the user's name."""

    pattern: re.Pattern[str]
    relation: R | None
    target: T
    importance: float
    name: str = "{obj}"
    says: str = ""
    ends: bool = False


def _row(
    pattern: str,
    relation: R | None,
    target: T,
    importance: float,
    *,
    name: str = "{obj}",
    says: str = "",
    ends: bool = False,
) -> _Pattern:
    whole = rf"^{_DEGREE}(?:{_I}{_DEGREE})?{pattern}{_END}"
    return _Pattern(re.compile(whole), relation, target, importance, name, says, ends)


_ROLES = (
    "老板|上司|领导|经理|同事|朋友|闺蜜|室友|邻居|老师|导师|同学|妹妹|姐姐|哥哥|弟弟|妈妈|爸爸|母亲|父亲"
    "|父母|妻子|丈夫|太太|先生|老婆|老公|爱人|女朋友|男朋友|女儿|儿子|孩子|爷爷|奶奶|外公|外婆|叔叔|阿姨"
    "|舅舅|表哥|表姐|表弟|表妹"
)
_ROLE = f"(?P<role>{_ROLES})"
# "我妈妈…" is about her, not about who writes.
_SOMEONE_ELSE = re.compile(rf"(?:我|我们)(?:的)?(?:{_ROLES}|公司|团队|家人)")
_JOB = "(?:师|医生|护士|程序员|经理|学生|教授|司机|记者|作家|会计|警察|演员)"
# "在北京工作" tells where someone works, not for whom.
_PLACE = (
    "(?P<obj>[^，。\\s]{1,10}(?:市|省|县|国)|北京|上海|广州|深圳|杭州|成都|南京|武汉|西安|重庆|天津|苏州"
    "|香港|澳门|台北|东京|大阪|首尔|新加坡|纽约|伦敦|巴黎|柏林|悉尼|多伦多|硅谷)"
)
_PATTERNS = (
    _row(rf"(?:的名字)?(?:叫做?|名叫|的名字是|姓名是){_OBJ}", None, T.PERSON, 0.9),
    _row(rf"的?{_ROLE}(?:名叫|叫){_OBJ}", R.KNOWS, T.PERSON, 0.7),
    _row(rf"(?:不再|已经不)在{_OBJ}(?:工作|上班)", R.WORKS_AT, T.ORGANIZATION, 0.8, ends=True),
    _row(rf"从{_OBJ}(?:离职|辞职)", R.WORKS_AT, T.ORGANIZATION, 0.8, ends=True),
    _row(rf"在{_PLACE}(?:工作|上班)", R.LOCATED_IN, T.LOCATION, 0.75),
    _row(rf"在{_OBJ}(?:工作|上班|任职)", R.WORKS_AT, T.ORGANIZATION, 0.85),
    _row(
        rf"(?:在[^，。]{{1,15}})?(?:做|当|是)(?:一名|一个|一位|名|个)?(?P<obj>[^，。\s]{{1,12}}{_JOB})",
        R.RELATED_TO,
        T.FACT,
        0.75,
        says="工作",
    ),
    _row(rf"(?:住在|居住在|生活在){_OBJ}", R.LOCATED_IN, T.LOCATION, 0.8),
    _row(rf"(?:搬到|搬去|搬家到){_OBJ}", R.LOCATED_IN, T.LOCATION, 0.8),
    _row(rf"(?:来自|是从){_OBJ}(?:来)?", R.RELATED_TO, T.FACT, 0.7, name="来自{obj}"),
    _row(rf"对{_OBJ}(?:严重)?过敏", R.RELATED_TO, T.FACT, 0.95, name="对{obj}过敏"),
    _row(rf"(?:不再|已经不)(?:用|使用){_OBJ}", R.USES, T.CONCEPT, 0.6, ends=True),
    _row(rf"(?:不再|已经不)喜欢{_OBJ}", R.PREFERS, T.PREFERENCE, 0.65, ends=True),
    _row(rf"(?:讨厌|不喜欢|不爱){_OBJ}", R.RELATED_TO, T.PREFERENCE, 0.7, name="不喜欢{obj}"),
    _row(rf"(?:喜欢|热爱|爱|偏爱|更喜欢)(?:喝|吃)?{_OBJ}", R.PREFERS, T.PREFERENCE, 0.65),
    _row(rf"(?:在学|学习|在学习){_OBJ}", R.RELATED_TO, T.SKILL, 0.6, says="在学"),
    _row(rf"会(?:说|讲){_OBJ}", R.KNOWS, T.SKILL, 0.6),
    _row(rf"(?:用|使用){_OBJ}(?:[做来写记管][^，。]*)?", R.USES, T.CONCEPT, 0.6),
    _row(rf"的(?:目标|梦想)是{_OBJ}", R.HAS_GOAL, T.GOAL, 0.7),
)


def read_chinese(text: str, notebook: Notebook) -> None:
    """Read the statements of a Chinese turn.

    Args:
        text: The user's own words, without secrets.
        notebook: Where statements go.
    """
    person: str | None = None  # whom "she" means: the last person that was named
    for sentence in _SENTENCE.findall(_QUOTED.sub("。", text)):
        if _NOT_ASSERTED.search(sentence.strip()):
            continue
        notebook.quote = sentence.strip()
        source: str | None = None
        for part in _CLAUSE.split(sentence.rstrip("。！!；;")):
            clause = part.strip()
            if clause.startswith(("他", "她")):
                source, clause = person, clause[1:]
            elif clause.startswith(("我", "本人")):
                source = SELF_REF
            if source is None:
                continue
            named = _read_clause(clause, source, notebook)
            person = named or person
            if source == SELF_REF and _SOMEONE_ELSE.match(clause):
                source = named  # what follows is about the person just spoken of


def _read_clause(clause: str, source: str, notebook: Notebook) -> str | None:
    """Read a clause; returns the ref of a person that it names."""
    found = find_date(clause, notebook.said_on)
    date = found.date if found else None
    text = clause.replace(date.phrase, "") if date else clause
    for row in _PATTERNS:
        match = row.pattern.match(text)
        if match is not None and MARK not in match["obj"]:
            return _write(row, match, source, date, notebook)
    return None


def _write(
    row: _Pattern,
    match: re.Match[str],
    source: str,
    date: StatedDate | None,
    notebook: Notebook,
) -> str | None:
    name = match["obj"]
    if row.relation is None:
        notebook.self_name = name if source == SELF_REF else notebook.self_name
        return None
    is_person = row.target is T.PERSON
    role = match.groupdict().get("role") or row.says
    ref = None
    for one in _LIST.split(name) if row.target is T.PREFERENCE else [name]:
        ref = notebook.entity(
            row.name.format(obj=one),
            row.target,
            row.importance,
            properties={"relationship": role} if is_person else None,
        )
        notebook.relation(source, row.relation, ref, description=role, date=date, ends=row.ends)
    return ref if is_person else None
