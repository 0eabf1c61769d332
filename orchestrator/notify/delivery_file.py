"""The deliveries of one receiver: `alerts/NAME.json` in the state directory.

The file survives a kill at any point and a power failure: it has the state from just before the
last notification was sent, or from just after it.
"""

import hashlib
import json
import logging
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator.config.alerts import Receiver
from orchestrator.notify.delivery import Delivery
from streams.state.files import make_parents, replace_file

FOLDER: Final = "alerts"
_ADDRESS_KEYS: Final = ("url", "url_file", "routing_key_file")
_log: Final = logging.getLogger(__name__)


class ReceiverState(BaseModel):
    """The stored state of one receiver. The aliases are the keys in the file.

    Attributes:
        receiver_id: digest by `receiver_id`; another receiver under the same name starts empty.
        deliveries: by the alert's fingerprint.
        error: the error of the last attempt; None: it succeeded.
    """

    model_config = ConfigDict(
        extra="ignore", frozen=True, validate_by_name=True, serialize_by_alias=True
    )

    receiver_id: Annotated[str, Field(alias="place")]
    deliveries: Annotated[dict[str, Delivery], Field(alias="told")] = {}
    success_ms: int | None = None
    failure_ms: int | None = None
    error: Annotated[str | None, Field(alias="why")] = None


class DeliveryFile:
    """Reads and replaces the file of one receiver."""

    def __init__(self, state_dir: Path, name: str, receiver: Receiver) -> None:
        self.path = state_dir / FOLDER / f"{name}.json"
        self._receiver_id = receiver_id(receiver)

    def read(self) -> ReceiverState:
        """Return the stored state; empty for a new receiver, or another one under this name."""
        empty = ReceiverState(receiver_id=self._receiver_id)
        try:
            stored = ReceiverState.model_validate_json(self.path.read_bytes())
        except FileNotFoundError:
            return empty
        except (OSError, ValidationError) as error:
            _log.warning("%s cannot be read; active alerts are sent again: %s", self.path, error)
            return empty
        if stored.receiver_id != self._receiver_id:
            _log.warning("%s is of another receiver; active alerts are sent again", self.path)
            return empty
        return stored

    def write(self, state: ReceiverState) -> None:
        """Replace the file and sync it to the disk.

        Raises:
            OSError: the file cannot be written.
        """
        make_parents(self.path, 1)
        replace_file(self.path, state.model_dump_json())


def receiver_id(receiver: Receiver) -> str:
    """Return a digest of the receiver's kind and configured address; it hides the address."""
    address = {key: str(getattr(receiver, key, "")) for key in _ADDRESS_KEYS}
    named = json.dumps([type(receiver).__name__, address], sort_keys=True)
    return hashlib.sha256(named.encode()).hexdigest()[:16]
