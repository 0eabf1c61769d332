"""The instructions for an operator if the job cannot continue with the state directory."""

from typing import Final

NEW_STORE: Final = (
    "stop `kraftgate run`, then move checkpoint/, store.db*, transitions/ and clusters/ out of the"
    " state directory, or restore all of them from one backup; keep the rest, as"
    " `kraftgate help state-and-backup` describes"
)
"""The end of an error. The rest is the state of the execution, which exists only there."""

REPLAYED: Final = "state"
REPLAYED_UNTIL_DAMAGE: Final = "until-damage"
"""The directories that a replay leaves in its state directory."""
