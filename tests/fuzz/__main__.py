"""`make fuzz`: a million inputs for every parser, or so many as FUZZ says; Ctrl-C ends it."""

import argparse
import sys
import time
from collections.abc import Sequence

from tests.fuzz.campaign import Outcome, fuzz
from tests.fuzz.target import Inputs
from tests.fuzz.targets import TARGETS

_PROGRESS_S = 10.0


def main(given: Sequence[str] | None = None) -> int:
    """Fuzz, or replay one input; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help="the parsers; none: all of them")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--count", type=int, default=1_000_000, help="inputs for each")
    parser.add_argument("--index", type=int, help="replay this input, and print it")
    parser.add_argument("--list", action="store_true", help="name the parsers")
    asked = parser.parse_args(given)
    names = asked.targets or list(TARGETS)
    if unknown := [name for name in names if name not in TARGETS]:
        parser.error(f"no target is called {', '.join(unknown)}; see --list")
    if asked.list:
        _say("\n".join(TARGETS))
        return 0
    if asked.index is not None:
        return _replay(names[0], asked.seed, asked.index)
    return _all(names, asked.seed, asked.count)


def _replay(name: str, seed: int, index: int) -> int:
    data = Inputs(TARGETS[name], seed)[index]
    _say(f"{len(data)} bytes: {data[:2000]!r}")
    try:
        _say(f"read: {TARGETS[name].parse(data)!r}"[:2000])
    except TARGETS[name].errors as error:
        _say(f"refused: {type(error).__name__}: {error}")
    return 0


def _all(names: Sequence[str], seed: int, count: int) -> int:
    findings = 0
    try:
        for name in names:
            findings += _campaign(name, seed, count)
    except KeyboardInterrupt:
        _say("\nstopped")
        return 130
    _say(f"{findings} findings")
    return 1 if findings else 0


def _campaign(name: str, seed: int, count: int) -> int:
    began = told = time.monotonic()

    def progress(outcome: Outcome) -> None:
        nonlocal told
        if time.monotonic() - told > _PROGRESS_S:
            told = time.monotonic()
            _say(_line(outcome, count, told - began))

    outcome = fuzz(name, seed, count, progress)
    _say(_line(outcome, count, time.monotonic() - began))
    for finding in outcome.findings:
        _say(finding)
    return len(outcome.findings)


def _line(outcome: Outcome, count: int, seconds: float) -> str:
    rate = outcome.inputs / max(seconds, 0.001)
    return (
        f"{outcome.target}: {outcome.inputs} of {count} inputs in {seconds:.0f} s ({rate:.0f}/s),"
        f" memory grew by {outcome.grown_bytes / 2**20:.0f} MB, {len(outcome.findings)} findings"
    )


def _say(text: object) -> None:
    print(text, flush=True)  # noqa: T201 a command


if __name__ == "__main__":
    sys.exit(main())
