"""What a parser under fuzz is: its name, real input, how it is called, what it may raise."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from tests.fuzz.mutations import Mutator

CHANCE_AS_IT_IS = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One parser.

    Attributes:
        name: for the command line.
        seeds: makes the real input that is damaged; called once in each process.
        parse: gives a result or raises one of `errors`; anything else is a finding. It may check
            more, by an assert: that two readers agree, that what is read can be stored.
        errors: what it may raise.
        mutate: how input is damaged.
        seal: repairs checksums and lengths, so that the damage gets past them; None: it has none.
        cost: how many times as long as the cheapest one input takes, roughly; tests run fewer.
    """

    name: str
    seeds: Callable[[], Sequence[bytes]]
    parse: Callable[[bytes], object]
    errors: tuple[type[Exception], ...]
    mutate: Mutator
    seal: Callable[[bytes], bytes] | None = None
    cost: int = 1


class Inputs:
    """A target's inputs by number: the same ones for the same seed."""

    def __init__(self, target: Target, seed: int) -> None:
        self._target = target
        self._seed = seed
        self._seeds = tuple(target.seeds())

    def __getitem__(self, index: int) -> bytes:
        """Make an input; the first ones are the real ones, undamaged."""
        if index < len(self._seeds):
            return self._seeds[index]
        rng = Random(f"{self._target.name} {self._seed} {index}")  # noqa: S311 no secret
        base = rng.choice(self._seeds)
        data = self._target.mutate(rng, base, self._seeds)
        if self._target.seal is None or rng.random() < CHANCE_AS_IT_IS:
            return data
        return self._target.seal(data)

    @property
    def real(self) -> int:
        """How many of them are undamaged."""
        return len(self._seeds)
