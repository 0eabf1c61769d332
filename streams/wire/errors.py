"""Errors of bytes that are not a valid metadata log.

Every error names the flaw, the place and the fix. A record type that Kafka 3.9 does not have is not
an error: it is read as `migration.metadata.records.Unknown`, and the caller counts it.
"""


class WireError(Exception):
    """The bytes are not a metadata log that Kafka 3.9 writes.

    Attributes:
        reason: The flaw, as a clause without a full stop.
        file: The file or the reply that held the bytes; None while unknown.
        position: Byte position of the batch in `file`; None while unknown.
        offset: Metadata offset of the record, or the base offset of the batch; None if unknown.
    """

    fix = "Read an undamaged copy: another controller's or broker's, or a later snapshot."
    """The fix, as an instruction to the operator; subclasses replace it."""

    def __init__(
        self,
        reason: str,
        *,
        file: str | None = None,
        position: int | None = None,
        offset: int | None = None,
    ) -> None:
        super().__init__(reason)  # pickle passes it on, and then sets the attributes
        self.reason = reason
        self.file = file
        self.position = position
        self.offset = offset

    def locate(self, *, file: str, position: int, offset: int | None) -> None:
        """Add the place to an error; the code that raised it knew only a value."""
        self.file, self.position, self.offset = file, position, offset

    def __str__(self) -> str:
        """Return the place, the flaw and the fix in one line."""
        where = self.file or ""
        if self.position is not None:
            where += f", byte {self.position}"
        if self.offset is not None:
            where += f", offset {self.offset}"
        return f"{where.removeprefix(', ')}{': ' if where else ''}{self.reason}. {self.fix}"


class DamagedBatch(WireError):
    """A record batch is cut or compressed, fails its CRC, or is inconsistent."""


class DamagedValue(WireError):
    """A record's value ends too early, too late, or does not decode."""


class UnknownFrameVersion(WireError):
    """A record's value has a frame other than version 1 (AbstractApiMessageSerde)."""

    fix = "Check that this is a __cluster_metadata log of Kafka 3.0 or later."


class UnsupportedRecordVersion(WireError):
    """A known record type in a version newer than Kafka 3.9's: guessing would fail open."""

    fix = "Follow this cluster with a Kraftgate that knows its metadata.version."
