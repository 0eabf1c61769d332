"""A bell with names: one thread waits for it, and sees which of many sources have something new."""

import threading


class Bell:
    """A bell that any thread rings, by name, and one thread waits for."""

    def __init__(self) -> None:
        self._rung = threading.Condition()
        self._names: set[str] = set()

    def ring(self, name: str) -> None:
        with self._rung:
            self._names.add(name)
            self._rung.notify()

    def wait(self, timeout_s: float) -> set[str]:
        """Wait for a ring; return the names that were rung since the last call."""
        with self._rung:
            self._rung.wait_for(lambda: self._names, timeout_s)
            names, self._names = self._names, set()
        return names
