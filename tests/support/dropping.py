"""An address that drops packets, as a host that is off or behind a firewall does."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress


@contextmanager
def dropping(host: str = "127.0.0.1", port: int = 0) -> Iterator[int]:
    """Yield its port: its queue of connections is full, and Linux answers no further one."""
    with ExitStack() as open_, socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(0)
        for _ in range(4):
            waiting = open_.enter_context(socket.socket())
            waiting.setblocking(False)
            with suppress(BlockingIOError):
                waiting.connect(listener.getsockname())
        yield listener.getsockname()[1]
