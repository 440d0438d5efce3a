"""Writing everything that a user's memory holds into a file, part by part."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import batched
from typing import TYPE_CHECKING

from threadkeep.domain.transfer_lines import (
    ConversationLine,
    EntityLine,
    HeaderLine,
    HistoryLine,
    MessageLine,
    RelationLine,
    SourceLine,
    write_line,
)
from threadkeep.domain.transfers import Counts, Place, TransferStatus
from threadkeep.ports import PageRequest
from threadkeep.services.transfers import export_key, parts_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from typing import Literal

    from threadkeep.domain.changes import Support
    from threadkeep.domain.conversations import Conversation
    from threadkeep.domain.transfer_lines import Line
    from threadkeep.domain.transfers import Transfer
    from threadkeep.ports import (
        Clock,
        ConversationStore,
        Ids,
        MemoryStore,
        TransferFiles,
        TransferStore,
    )

PART_BYTES = 8 * 1024 * 1024
PAGE = 100

CONVERSATIONS, ENTITIES, RELATIONS, JOINING = "conversations", "entities", "relations", "joining"


@dataclass(frozen=True)
class _Chunk:
    """Lines that are written together, and where it goes on after them."""

    lines: Sequence[Line]
    stage: str
    after: str = ""
    after_seq: int = 0


class Exporting:
    """Walks conversations, entities and relations in orders that do not change meanwhile."""

    def __init__(
        self,
        memory: MemoryStore,
        conversations: ConversationStore,
        store: TransferStore,
        files: TransferFiles,
        clock: Clock,
        ids: Ids,
        *,
        part_bytes: int = PART_BYTES,
    ) -> None:
        self._memory = memory
        self._conversations = conversations
        self._store = store
        self._files = files
        self._clock = clock
        self._ids = ids
        self._part_bytes = part_bytes

    def run(self, user_id: str, transfer: Transfer, until: datetime) -> bool:
        """Write parts until all is written, then make one file of them.

        A part gets a name of its own and counts once the record names it: whatever breaks off is
        written again under another name.

        Returns:
            False if time ran out before.
        """
        waiting: list[_Chunk] = []
        size = 0
        buffer: list[bytes] = []
        for chunk in self._chunks(user_id, transfer):
            text = b"".join(map(write_line, chunk.lines))
            buffer.append(text)
            waiting.append(chunk)
            size += len(text)
            late = self._clock.now() >= until
            if late or size >= self._part_bytes:
                transfer = self._write(user_id, transfer, waiting, b"".join(buffer))
                waiting, buffer, size = [], [], 0
            if late:
                return False
        if waiting:
            transfer = self._write(user_id, transfer, waiting, b"".join(buffer))
        self._files.join(user_id, export_key(transfer.id), transfer.place.parts)
        now = self._clock.now()
        done = {"status": TransferStatus.DONE, "updated_at": now, "finished_at": now}
        self._store.save(user_id, transfer.model_copy(update=done))
        self._files.delete_all(user_id, parts_folder(transfer.id))
        return True

    def _write(
        self, user_id: str, transfer: Transfer, chunks: Sequence[_Chunk], body: bytes
    ) -> Transfer:
        key = f"{parts_folder(transfer.id)}{self._ids.new()}"
        self._files.put(user_id, key, body)
        last = chunks[-1]
        lines = [line for chunk in chunks for line in chunk.lines]
        place = Place(
            stage=last.stage,
            after=last.after,
            after_seq=last.after_seq,
            parts=(*transfer.place.parts, key),
        )
        written = {
            "place": place,
            "lines": transfer.lines + len(lines),
            "counts": transfer.counts.plus(_counted(lines)),
            "updated_at": self._clock.now(),
        }
        return self._store.save(user_id, transfer.model_copy(update=written))

    def _chunks(self, user_id: str, transfer: Transfer) -> Iterator[_Chunk]:
        place = transfer.place
        if not place.stage:
            self._note_conversations(user_id, transfer.id)
            header = HeaderLine(exported_at=transfer.created_at)
            yield _Chunk([header], CONVERSATIONS)
            place = Place(stage=CONVERSATIONS)
        if place.stage == CONVERSATIONS:
            yield from self._talks(user_id, transfer.id, place)
            place = Place(stage=ENTITIES)
        if place.stage == ENTITIES:
            yield from self._entities(user_id, place.after)
            place = Place(stage=RELATIONS)
        if place.stage == RELATIONS:
            yield from self._relations(user_id, place.after)

    def _note_conversations(self, user_id: str, transfer_id: str) -> None:
        """Keep the list of conversations: the order of their listing changes with each turn."""
        found: dict[str, None] = {}
        known = -1
        # Once more while there are new ones: one that moved up meanwhile may have been passed by.
        while known < len(found):
            known = len(found)
            for head in self._listed(user_id):
                found.setdefault(head.id)
        body = json.dumps(list(found)).encode()
        self._files.put(user_id, _list_key(transfer_id), body)

    def _listed(self, user_id: str) -> Iterator[Conversation]:
        page = self._conversations.list(user_id, PageRequest(limit=PAGE))
        yield from page.items
        while page.next_position is not None:
            request = PageRequest(limit=PAGE, position=page.next_position)
            page = self._conversations.list(user_id, request)
            yield from page.items

    def _talks(self, user_id: str, transfer_id: str, place: Place) -> Iterator[_Chunk]:
        noted = json.loads(self._files.get(user_id, _list_key(transfer_id)))
        first = int(place.after or 0)
        for number, conversation_id in enumerate(noted[first:], first):
            after_seq = place.after_seq if number == first else 0
            yield from self._talk(user_id, conversation_id, number, after_seq)
        yield _Chunk([], ENTITIES)

    def _talk(
        self, user_id: str, conversation_id: str, number: int, after_seq: int
    ) -> Iterator[_Chunk]:
        head = self._conversations.get(user_id, conversation_id)
        if head is None:
            return
        lines: list[Line] = [] if after_seq else [ConversationLine.of(head)]
        more = True
        while more:
            page = self._conversations.messages(
                user_id, conversation_id, PageRequest(limit=PAGE), after_seq=after_seq
            )
            more = page.next_position is not None
            if page.items:
                after_seq = page.items[-1].seq
                lines += [MessageLine.of(message) for message in page.items]
                yield _Chunk(lines, CONVERSATIONS, str(number), after_seq)
                lines = []
        yield _Chunk(lines, CONVERSATIONS, str(number + 1))

    def _entities(self, user_id: str, after: str) -> Iterator[_Chunk]:
        for entity, supports in self._memory.walk_entities(user_id, after=after):
            lines: list[Line] = []
            if entity.is_live(self._clock.now()):
                lines += [EntityLine.of(entity), *_sources("entity", entity.id, supports)]
                lines += self._history(user_id, entity.id)
            yield _Chunk(lines, ENTITIES, entity.id)
        yield _Chunk([], RELATIONS)

    def _relations(self, user_id: str, after: str) -> Iterator[_Chunk]:
        walked = self._memory.walk_relations(user_id, after=after)
        for batch in batched(walked, PAGE, strict=False):
            ends = {end for one, _ in batch for end in (one.source_entity_id, one.target_entity_id)}
            now = self._clock.now()
            found = self._memory.get_entities(user_id, sorted(ends))
            live = {entity_id for entity_id, entity in found.items() if entity.is_live(now)}
            for relation, supports in batch:
                lines: list[Line] = []
                if {relation.source_entity_id, relation.target_entity_id} <= live:
                    lines += [
                        RelationLine.of(relation),
                        *_sources("relation", relation.id, supports),
                        *self._history(user_id, relation.id),
                    ]
                yield _Chunk(lines, RELATIONS, relation.id)
        yield _Chunk([], JOINING)

    def _history(self, user_id: str, item_id: str) -> Iterator[HistoryLine]:
        page = self._memory.history(user_id, item_id, PageRequest(limit=PAGE))
        yield from map(HistoryLine.of, page.items)
        while page.next_position is not None:
            request = PageRequest(limit=PAGE, position=page.next_position)
            page = self._memory.history(user_id, item_id, request)
            yield from map(HistoryLine.of, page.items)


def _sources(
    of: Literal["entity", "relation"], item_id: str, supports: Sequence[Support]
) -> Iterator[SourceLine]:
    for one in supports:
        yield SourceLine(of=of, item_id=item_id, source_id=one.source_id, evidence=one.evidence)


def _counted(lines: Sequence[Line]) -> Counts:
    return Counts(
        entities=sum(isinstance(line, EntityLine) for line in lines),
        relations=sum(isinstance(line, RelationLine) for line in lines),
        sources=sum(isinstance(line, SourceLine) for line in lines),
        messages=sum(isinstance(line, MessageLine) for line in lines),
        history=sum(isinstance(line, HistoryLine) for line in lines),
    )


def _list_key(transfer_id: str) -> str:
    return f"{parts_folder(transfer_id)}conversations.json"
