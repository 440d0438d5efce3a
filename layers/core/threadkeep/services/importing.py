"""Reading an uploaded file into a user's memory, line by line, each line once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from threadkeep.domain.transfer_lines import (
    ConversationLine,
    EntityLine,
    HistoryLine,
    MessageLine,
    RelationLine,
    SourceLine,
    line_error,
    read_line,
)
from threadkeep.domain.transfers import (
    BUSY,
    MAX_LINE_BYTES,
    MAX_LINES,
    SUPERSEDED,
    Counts,
    LineError,
    TransferStatus,
)
from threadkeep.errors import (
    ConflictError,
    NotFoundError,
    PayloadTooLargeError,
    ValidationError,
)
from threadkeep.services.import_entities import EntityImport
from threadkeep.services.import_refs import ImportedIds
from threadkeep.services.import_relations import RelationImport, SourceImport
from threadkeep.services.import_session import ImportSession, Spot
from threadkeep.services.import_talk import TalkImport
from threadkeep.services.transfers import upload_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

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
    from threadkeep.services.relation_statements import RelationStatements
    from threadkeep.services.statements import EntityStatements

READ_BYTES = 1024 * 1024
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class _Readers:
    """What takes over each kind of line."""

    session: ImportSession
    talk: TalkImport
    entities: EntityImport
    relations: RelationImport
    sources: SourceImport

    def take(self, spot: Spot, text: bytes | None) -> None:
        """Take a line, or report why it can not be taken."""
        line = _read(spot, text)
        if isinstance(line, MessageLine):
            self.talk.add(spot, line)
            return
        self.talk.flush()
        if line is None:
            self.session.take(spot)
        elif isinstance(line, LineError):
            self.session.take(spot, errors=[line])
        else:
            self._take_fact(spot, line)

    def _take_fact(self, spot: Spot, line: Line) -> None:
        try:
            match line:
                case EntityLine():
                    self.entities.take(spot, line)
                case RelationLine():
                    self.relations.take(spot, line)
                case SourceLine():
                    self.sources.take(spot, line)
                case ConversationLine():
                    self.talk.open(spot, line)
                case HistoryLine():
                    self.session.take(spot, Counts(history=1))
                case _:
                    self.session.take(spot)
        except (ValidationError, NotFoundError, PayloadTooLargeError, ConflictError) as error:
            if error.code in (ConflictError.code, SUPERSEDED, BUSY):
                raise
            self.session.take(spot, errors=[line_error(spot.number, error.code, error.detail)])


class Importing:
    """Takes over the lines of a file; what a line changes and the place after it are one commit."""

    def __init__(
        self,
        memory: MemoryStore,
        conversations: ConversationStore,
        entities: EntityStatements,
        relations: RelationStatements,
        store: TransferStore,
        files: TransferFiles,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._memory = memory
        self._conversations = conversations
        self._entities = entities
        self._relations = relations
        self._store = store
        self._files = files
        self._clock = clock
        self._ids = ids

    def run(self, user_id: str, transfer: Transfer, until: datetime) -> bool:
        """Take lines until all are read.

        A line that can not be taken is reported with its number and passed over.

        Returns:
            False if time ran out before.

        Raises:
            ConflictError: The file was replaced (``upload_changed``), has too many lines
                (``too_many_lines``), or the work has to wait or is another worker's.
            NotFoundError: The file is gone.
            StorageFullError: The user's memory is full.
        """
        session = ImportSession(user_id, transfer, self._memory, self._store, self._clock)
        talk = TalkImport(session, self._conversations, self._clock)
        refs = ImportedIds(session, talk.here)
        readers = _Readers(
            session,
            talk,
            EntityImport(session, self._memory, self._entities, refs),
            RelationImport(session, self._memory, self._relations, self._ids, refs),
            SourceImport(session, self._memory, refs),
        )
        for spot, text in self._lines(user_id, transfer):
            if spot.number > MAX_LINES:
                talk.flush()
                session.save()
                raise ConflictError("The file has too many lines.", code="too_many_lines")
            readers.take(spot, text)
            if self._clock.now() >= until:
                talk.flush()
                session.save()
                return False
        talk.flush()
        session.save()
        self._store.forget_mapping(user_id, transfer.id)
        session.save(status=TransferStatus.DONE, finished_at=self._clock.now())
        self._files.delete(user_id, [upload_key(transfer.id)])
        return True

    def _lines(self, user_id: str, transfer: Transfer) -> Iterator[tuple[Spot, bytes | None]]:
        """Yield the lines that follow the place of the record; None for one that is too long."""
        place, number = transfer.place, transfer.lines
        key, start, end = upload_key(transfer.id), place.offset, place.offset
        waiting = bytearray()
        too_long = False
        while start < place.size or waiting:
            newline = waiting.find(b"\n")
            if newline < 0 and start < place.size:
                if len(waiting) > MAX_LINE_BYTES:
                    end += len(waiting)
                    waiting.clear()
                    too_long = True
                piece = self._files.read(
                    user_id, key, start=start, length=READ_BYTES, etag=place.etag
                )
                start += len(piece)
                waiting += piece
                continue
            length = len(waiting) if newline < 0 else newline + 1
            text = bytes(waiting[:length])
            del waiting[:length]
            end += length
            number += 1
            too_long = too_long or length > MAX_LINE_BYTES
            yield Spot(number, end), None if too_long else text
            too_long = False


def _read(spot: Spot, text: bytes | None) -> Line | LineError | None:
    """Read a line; None for a blank one."""
    if text is None:
        return line_error(spot.number, "line_too_long", f"Longer than {MAX_LINE_BYTES} bytes.")
    if spot.number == 1:
        text = text.removeprefix(_BOM)
    return read_line(spot.number, text.strip()) if text.strip() else None
