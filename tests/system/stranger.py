"""A process of another local user, which sends bytes to a port of ours: python stranger.py PORT.

In: the bytes, on standard input. Out: what the other side answered until it closed the connection,
or until the answer was a whole frame of Spark's (eight bytes of length before it).
"""

import encodings.idna  # noqa: F401  # nobody cannot import it: the interpreter may be in a home
import os
import socket
import sys

NOBODY = 65534


def main() -> None:
    port, sent = int(sys.argv[1]), sys.stdin.buffer.read()
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=60.0) as connection:
        try:
            connection.sendall(sent)
            while not _is_frame(answer) and (more := connection.recv(65536)):
                answer += more
        except (BrokenPipeError, ConnectionResetError):
            pass
    sys.stdout.buffer.write(answer)


def _is_frame(answer: bytes) -> bool:
    return len(answer) >= 8 and len(answer) >= int.from_bytes(answer[:8])


if __name__ == "__main__":
    main()
