"""Every parser under fuzz, by its name."""

from tests.fuzz.target import Target
from tests.fuzz.targets import files, following, replies, text, wire

TARGETS: dict[str, Target] = {
    each.name: each for module in (wire, replies, following, text, files) for each in module.TARGETS
}
