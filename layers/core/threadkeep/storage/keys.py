"""The one table's keys: the only place that builds or reads a key string.

Every user-owned partition starts with the user's own component, and components are escaped, so
that no id or name can forge another key and no user is a prefix of another (``U#u1`` and ``U#u10``
differ as whole keys, and ``U#u1#…`` can not be the start of ``U#u10#…``).

docs/architecture.md has the table of access patterns that these keys serve.
"""

import hashlib
import re
from datetime import UTC, datetime
from typing import Final
from urllib.parse import unquote

PARTITION_KEY: Final = "PK"
SORT_KEY: Final = "SK"
BY_TOUCHED: Final = "by_touched"
BY_NAME: Final = "by_name"
DUE: Final = "due"
TTL: Final = "ttl"

KEY_SCHEMA: Final = {
    "table": (PARTITION_KEY, SORT_KEY),
    "local": {BY_TOUCHED: (PARTITION_KEY, "L1"), BY_NAME: (PARTITION_KEY, "L2")},
    "local_projection": ("kind", "item_id", "entity_type", "touched_at", "expires_at"),
    "global": {DUE: ("due_bucket", "due_at")},
}
"""What the template must declare; a template test compares the two."""

_MAX_SORT_KEY_BYTES: Final = 1024
_HIGHEST: Final = "\U0010ffff"

VECTOR_SHARDS: Final = 8


_ESCAPED = re.compile(r"[\x00-#%/\x7f]")


def _part(component: str) -> str:
    """Escape a component so that it can not hold the separator; too long ones become a digest.

    Nothing below the separator stays either: what starts with ``E#id#`` follows ``E#id`` directly.
    """
    escaped = _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", component)
    if len(escaped.encode()) > 256:
        return "%sha256-" + hashlib.sha256(component.encode()).hexdigest()
    return escaped


def timestamp(moment: datetime) -> str:
    """Return a fixed-width UTC time whose text order is the order of time."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def between(prefix: str) -> tuple[str, str]:
    """Return the lowest and highest sort key that start with ``prefix``."""
    return prefix, prefix + _HIGHEST


# Partitions


def user(user_id: str) -> str:
    """Partition of a user's graph, lists, marks and idempotency records."""
    return f"U#{_part(user_id)}"


def owner(partition: str) -> str:
    """Return the user whose partition this is.

    Raises:
        ValueError: It is no user's partition, or the id was too long to be kept in it.
    """
    prefix, _, user_part = partition.partition("#")
    if prefix != "U" or "#" in user_part or user_part.startswith("%sha256-"):
        raise ValueError(f"not a user's partition: {partition!r}")
    return unquote(user_part)


def thread(user_id: str, conversation_id: str) -> str:
    """Partition of one conversation."""
    return f"{user(user_id)}#T#{_part(conversation_id)}"


def vectors(user_id: str, shard: int) -> str:
    """Partition of one shard of a user's vector rows, so that shards load in parallel."""
    return f"{user(user_id)}#V#{shard}"


def history(user_id: str) -> str:
    """Partition of the history of a user's entities and relations."""
    return f"{user(user_id)}#H"


def jobs(user_id: str) -> str:
    """Partition of a user's extraction jobs."""
    return f"{user(user_id)}#J"


def ledger(user_id: str, month: str) -> str:
    """Partition of a user's usage rows of one month, ``yyyymm``."""
    return f"{user(user_id)}#L#{_part(month)}"


def audit(year: int, month: int) -> str:
    """Partition of what administrators did in a month; it does not go with any user."""
    return f"AUDIT#{year:04d}{month:02d}"


def audit_entry(moment: datetime, entry_id: str) -> str:
    """Row of one act of an administrator."""
    return f"{timestamp(moment)}#{_part(entry_id)}"


AGENTS: Final = "AGENTS"
SETTINGS: Final = "SETTINGS"


# Sort keys of the user partition
#
# All rows of an entity follow its own row, so that one query reads as many of them as are wanted:
# ``E#id``, its access counter ``#A``, its sources ``#E#…``, its relations ``#R#…``, and what they
# were ``#X#…``.


def entity(entity_id: str) -> str:
    """Row of an entity, and of what is left of it while its deletion is under way."""
    return f"E#{_part(entity_id)}"


def access(entity_id: str) -> str:
    """Row of an entity's access counter, outside the versioned item."""
    return f"{entity(entity_id)}#A"


def entity_sources(entity_id: str) -> str:
    """Prefix of an entity's sources."""
    return f"{entity(entity_id)}#E#"


def entity_source(entity_id: str, source_id: str) -> str:
    """Row of one source that supports an entity, with the evidence."""
    return f"{entity_sources(entity_id)}{_part(source_id)}"


def halves(entity_id: str, direction: str = "", relation_type: str = "") -> str:
    """Prefix of an entity's current relations: all, one direction (``O``, ``I``), one type."""
    prefix = f"{entity(entity_id)}#R#"
    if direction:
        prefix += f"{direction}#"
        if relation_type:
            prefix += f"{_part(relation_type)}#"
    return prefix


def outgoing(source_id: str, relation_type: str, target_id: str) -> str:
    """Half of a current relation at its source: makes source, type and target unique."""
    return f"{halves(source_id, 'O', relation_type)}{_part(target_id)}"


def incoming(target_id: str, relation_type: str, source_id: str) -> str:
    """Half of a current relation at its target."""
    return f"{halves(target_id, 'I', relation_type)}{_part(source_id)}"


def closed_halves(entity_id: str, direction: str = "") -> str:
    """Prefix of an entity's closed relations."""
    return f"{entity(entity_id)}#X#" + (f"{direction}#" if direction else "")


def closed_half(entity_id: str, direction: str, relation_id: str) -> str:
    """Half of a closed relation, kept apart so that what is current is read without what was."""
    return f"{closed_halves(entity_id, direction)}{_part(relation_id)}"


def entity_with_sources(entity_id: str) -> tuple[str, str]:
    """Range of an entity's row, its access counter and its sources."""
    return entity(entity_id), f"{entity_sources(entity_id)}{_HIGHEST}"


def entity_with_halves(entity_id: str) -> tuple[str, str]:
    """Range of an entity's row, its access counter, its sources and its current relations."""
    return entity(entity_id), f"{halves(entity_id)}{_HIGHEST}"


def entity_with_all(entity_id: str) -> tuple[str, str]:
    """Range of all rows of an entity."""
    return entity(entity_id), f"{entity(entity_id)}#{_HIGHEST}"


def name_guard(entity_type: str, name_key: str) -> str:
    """Row that makes a name key unique among a user's entities of a type."""
    return f"N#{_part(entity_type)}#{hashlib.sha256(name_key.encode()).hexdigest()}"


SELF_GUARD: Final = "N#self"


def single_guard(source_id: str, relation_type: str) -> str:
    """Row that makes the relation with an open end unique for a source of a single-valued type."""
    return f"O#{_part(source_id)}#{_part(relation_type)}"


def relation(relation_id: str) -> str:
    """Row of a relation's body, and of what is left of it while its deletion is under way."""
    return f"RID#{_part(relation_id)}"


def relation_sources(relation_id: str) -> str:
    """Prefix of a relation's sources."""
    return f"{relation(relation_id)}#S#"


def relation_source(relation_id: str, source_id: str) -> str:
    """Row of one source that supports a relation, with the evidence."""
    return f"{relation_sources(relation_id)}{_part(source_id)}"


def relation_with_sources(relation_id: str) -> tuple[str, str]:
    """Range of a relation's body and its sources."""
    return relation(relation_id), f"{relation(relation_id)}#{_HIGHEST}"


PENDING: Final = "PX#"


def pending(ref: str) -> str:
    """Mark that an entity or message waits to be indexed; written with the change itself."""
    return f"{PENDING}{_part(ref)}"


INDEX_LOG: Final = "IX#"


def index_log(moment: datetime, batch_id: str) -> str:
    """Row that names what the indexer changed in one batch, so that caches refresh by one query."""
    return f"{INDEX_LOG}{timestamp(moment)}#{_part(batch_id)}"


DELETING_CONVERSATION: Final = "DC#"


def deleting_conversation(conversation_id: str) -> str:
    """Marker of a conversation whose deletion is under way."""
    return f"{DELETING_CONVERSATION}{_part(conversation_id)}"


def conversation(conversation_id: str) -> str:
    """List row of a conversation."""
    return f"C#{_part(conversation_id)}"


AGENT: Final = "G#"


def agent(agent_id: str) -> str:
    """Row of an agent's draft, in its owner's partition."""
    return f"{AGENT}{_part(agent_id)}"


def agent_live(agent_id: str) -> str:
    """Row of an agent's live configuration: beside the draft and, when shared, in ``AGENTS``."""
    return f"{agent(agent_id)}#LIVE"


def idempotency(route: str, key: str) -> str:
    """Record of a request that carried an Idempotency-Key."""
    return f"I#{_part(route)}#{hashlib.sha256(key.encode()).hexdigest()}"


def idempotency_part(route: str, key: str, number: int) -> str:
    """Part of the body that a request was answered with."""
    return f"{idempotency(route, key)}#{number:02d}"


def due_extraction(conversation_id: str) -> str:
    """Row that tells when a conversation is due for extraction."""
    return f"DUE#{_part(conversation_id)}"


# Sort keys of the other partitions

META: Final = "META"
MESSAGES: Final = "M#"


def message(seq: int) -> str:
    """Row of a message; zero-padded so that text order is the order of sequence numbers."""
    return f"{MESSAGES}{seq:012d}"


def pinned(key: str) -> str:
    """Row of a pinned value."""
    return f"P#{_part(key)}"


def checkpoint(seq: int) -> str:
    """Row of a summary checkpoint."""
    return f"S#{seq:012d}"


EVIDENCE_POINTERS: Final = "EV#"


def evidence_pointer(item_id: str, source_id: str) -> str:
    """Row in a conversation that points at evidence taken from it."""
    return f"{EVIDENCE_POINTERS}{_part(item_id)}#{_part(source_id)}"


def job_pointer(job_id: str) -> str:
    """Row in a conversation that points at a job over it."""
    return f"JB#{_part(job_id)}"


def version(item_id: str, number: int) -> str:
    """Row of one version in an item's history."""
    return f"{versions(item_id)}{number:09d}"


def versions(item_id: str) -> str:
    """Prefix of an item's history."""
    return f"{_part(item_id)}#"


def vector(ref: str) -> str:
    """Row of one document of the exact back end."""
    return f"D#{_part(ref)}"


def vector_shard(ref: str) -> int:
    """Shard that holds a document."""
    return hashlib.sha256(ref.encode()).digest()[0] % VECTOR_SHARDS


def job(job_id: str) -> str:
    """Row of an extraction job."""
    return f"J#{_part(job_id)}"


def plan(job_id: str) -> str:
    """Row of a job's plan."""
    return f"JP#{_part(job_id)}"


def job_steps(job_id: str) -> str:
    """Row that counts which steps of a job were applied."""
    return f"{job(job_id)}#STEPS"


def transfer(transfer_id: str) -> str:
    """Row of an export or import, among the user's jobs."""
    return f"TR#{_part(transfer_id)}"


def transfer_mappings(transfer_id: str) -> str:
    """Prefix of the rows that tell under which ids an import stored what."""
    return f"{transfer(transfer_id)}#M#"


def transfer_mapping(transfer_id: str, ref: str) -> str:
    """Row that tells which id stands for an id of an imported file."""
    return f"{transfer_mappings(transfer_id)}{_part(ref)}"


def entities_after(entity_id: str) -> tuple[str, str]:
    """Range of the rows of all entities, or of those that follow one in the order of keys."""
    return entity_with_all(entity_id)[1] if entity_id else entity(""), f"{entity('')}{_HIGHEST}"


def relations_after(relation_id: str) -> tuple[str, str]:
    """Range of the rows of all relations, or of those that follow one in the order of keys."""
    first = relation_with_sources(relation_id)[1] if relation_id else relation("")
    return first, f"{relation('')}{_HIGHEST}"


def setting(key: str) -> str:
    """Row of one site setting."""
    return f"K#{_part(key)}"


# Partitions of the global index

_DUE_SHARDS: Final = 4


def due_bucket(kind: str, user_id: str, ref: str) -> str:
    """Bucket of a row that waits for a time; several a kind, so that no one of them runs hot."""
    digest = hashlib.sha256(f"{_part(user_id)}#{ref}".encode()).digest()
    return f"{kind}#{digest[0] % _DUE_SHARDS}"


def due_buckets(kind: str) -> tuple[str, ...]:
    """All buckets of a kind: a sweep reads each of them."""
    return tuple(f"{kind}#{shard}" for shard in range(_DUE_SHARDS))


# Sort keys of the local indexes


def touched(kind: str, moment: datetime, item_id: str) -> str:
    """``L1``: by kind and touched time."""
    return f"{kind}#{timestamp(moment)}#{_part(item_id)}"


def touched_edge(
    kind: str, moment: datetime, relation_id: str, source_id: str, target_id: str
) -> str:
    """``L1`` of a relation: by kind and time of update; its ends are read from the key alone."""
    ends = f"{_part(source_id)}#{_part(target_id)}"
    return f"{touched(kind, moment, relation_id)}#{ends}"


def ends_of_edge(key: str) -> tuple[str, str]:
    """Return source and target of a relation from its ``L1``."""
    *_, source_id, target_id = key.split("#")
    return unquote(source_id), unquote(target_id)


_NAME_END: Final = "\x1f"


def named(kind: str, name_key: str, item_id: str) -> str:
    """``L2``: by kind and name; a long name is cut at a character, the id keeps it unique.

    The name ends in the unit separator, which no name key holds (it is white space) and which sorts
    below every printable character, so that "ann" comes before "ann b".
    """
    suffix = f"{_NAME_END}{_part(item_id)}"
    room = _MAX_SORT_KEY_BYTES - len(f"{kind}#".encode()) - len(suffix.encode())
    return f"{kind}#{name_key.encode()[:room].decode(errors='ignore')}{suffix}"
