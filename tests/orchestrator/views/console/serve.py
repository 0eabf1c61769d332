"""Serves a made-up cluster with changes flowing: to look at by hand, and for tests in a browser.

    python -m tests.orchestrator.views.console.serve [--big] [--scene SCENE] [--port 8464]
        [--still] [--config FILE]

With --config, the state directory of that configuration is served as it is. Prints the address and
the token's file, like `kraftgate run --console`; Ctrl-C ends it.
"""

import argparse
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import get_args

from orchestrator.config.load import Config, load_config
from orchestrator.run.assessed import Assessor, Tick
from orchestrator.run.reader import Reader
from orchestrator.views.console.web.serving import Console, served
from tests.orchestrator.views.console import sample
from tests.orchestrator.views.console.scenes import Scene
from tests.orchestrator.views.console.world import World

_BIG_EVENTS = 40_000
_LOOK_S = 0.25
_SHOWN_S_MAX = 180.0


class Served:
    """A world, its console, and looks whenever they are asked for."""

    def __init__(self, world: World, console: Console, end: Callable[[], None]) -> None:
        """Wrap; `end`: ends the console."""
        self.world, self.console, self.end = world, console, end
        self._assessor = Assessor(world.config, Reader(world.config, newest=50))

    @property
    def url(self) -> str:
        return self.console.url

    @property
    def token(self) -> str:
        return self.console.token.secret()

    def look(self) -> Tick:
        """Tick once, as the loop of `kraftgate run` does."""
        tick = self._assessor.tick(self.world.at.now_ms)
        self.console.tick(tick)
        return tick

    def watch(self) -> None:
        """Have seen the same for two minutes, so that its alerts are active."""
        for ago_ms in range(120_000, 0, -20_000):
            self.world.tell(stale_ms=ago_ms)
            self._assessor.tick(self.world.at.now_ms - ago_ms)
        self.world.tell()

    def until_shown(self) -> None:
        """Wait until the last tick is published to the pages."""
        deadline_s = time.monotonic() + _SHOWN_S_MAX
        while self.console.looked_ms != self.world.at.now_ms:
            if time.monotonic() > deadline_s:
                raise AssertionError(f"it was not shown within {_SHOWN_S_MAX} s")
            time.sleep(0.005)

    def advance(self, now_ms: int | None = None, share: float = 0.05) -> Tick:
        """Let some of the night pass, and look."""
        self.world.advance(self.world.at.now_ms + 250 if now_ms is None else now_ms, share)
        return self.look()


@contextmanager
def serving(world: World) -> Iterator[Served]:
    wanted = world.config.console
    if wanted is None:
        raise AssertionError("the world's configuration has a console")
    with closing(world), ExitStack() as stack:
        yield Served(world, stack.enter_context(served(world.config, wanted)), stack.close)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--big", action="store_true", help="300 brokers, 12 directories each")
    parser.add_argument("--scene", choices=get_args(Scene), default="night")
    parser.add_argument("--port", type=int, default=8464)
    parser.add_argument("--still", action="store_true", help="nothing goes on but time")
    parser.add_argument("--config", type=Path, help="serve its state directory instead")
    given = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    if given.config is not None:
        _serve_config(load_config(given.config), stop)
        return
    with tempfile.TemporaryDirectory() as folder:
        world = World(
            Path(folder),
            _now_ms(),
            shape=sample.BIG if given.big else sample.SMALL,
            scene=given.scene,
            events=_BIG_EVENTS if given.big else 60,
            console=f"{{listen: '127.0.0.1:{given.port}'}}",
        )
        with serving(world) as now:
            sys.stdout.write(f"{now.url}/ token {now.console.token.path}\n")
            sys.stdout.flush()
            while not stop.wait(_LOOK_S):
                # A broker has all its directories after some twenty seconds.
                now.advance(_now_ms(), share=0.0 if given.still else 0.0125)


def _serve_config(config: Config, stop: threading.Event) -> None:
    """Serve the configured console over what the state directory holds."""
    assert config.console is not None
    assessor = Assessor(config, Reader(config, newest=50))
    with served(config, config.console) as console:
        sys.stdout.write(f"{console.url}/ token {console.token.path}\n")
        sys.stdout.flush()
        while not stop.wait(_LOOK_S):
            console.tick(assessor.tick(_now_ms()))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


if __name__ == "__main__":
    main()
