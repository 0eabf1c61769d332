"""Watches single znodes for their data, and branches for their children.

Every read sets its watch, and every watch that fires causes a read, so no change falls between a
read and its watch. A path that does not exist is watched for its creation.
"""

from kazoo.protocol.states import ZnodeStat

from migration.observed.znodes import BRANCHES, BROKER_IDS, DATA
from streams.zookeeper.emitter import Emitter
from streams.zookeeper.session import Action, Session


class Tree:
    """Reads paths for one session and updates the `Emitter`."""

    def __init__(self, session: Session, emitter: Emitter) -> None:
        """Prepare: `session` sends the requests, `emitter` receives each znode found or gone."""
        self._session = session
        self._client = session.client
        self._emitter = emitter
        self._watched: set[str] = set()

    def read(self) -> None:
        # Of topics to delete there may be thousands, and only their names matter.
        self._watched -= self._emitter.known.below(BROKER_IDS)
        for path in DATA:
            self._read(path)
        for branch in BRANCHES:
            self._list(branch)

    def _read(self, path: str) -> None:
        """Read a znode. While a child does not exist only its branch is watched."""

        def answered(found: tuple[bytes | None, ZnodeStat] | None) -> None:
            if found is not None:
                self._watched.add(path)
                self._emitter.update(path, *found)
                return
            self._watched.discard(path)
            self._emitter.remove(path)
            if path in DATA:
                await_creation(self._session, path, reread)

        def reread() -> None:
            self._read(path)

        self._session.ask(
            self._client.get_async, path, answered, watch=self._session.watch(path, reread)
        )

    def _list(self, branch: str) -> None:
        def answered(names: list[str] | None) -> None:
            there = {f"{branch}/{name}" for name in names or ()}
            gone = self._emitter.known.below(branch) - there
            self._emitter.remove(*sorted(gone))
            self._watched -= gone
            for path in sorted(there - self._watched):
                self._read(path)
            if names is None:
                await_creation(self._session, branch, reread)

        def reread() -> None:
            self._list(branch)

        self._session.ask(
            self._client.get_children_async,
            branch,
            answered,
            watch=self._session.watch(branch, reread),
        )


def await_creation(session: Session, path: str, reread: Action) -> None:
    """Watch a path that did not exist; call `reread` immediately if it exists by now.

    Only `exists` sets a watch on an absent znode (DataTree.getData and getChildren set none).
    """

    def answered(stat: ZnodeStat | None) -> None:
        if stat is not None:
            reread()

    session.ask(session.client.exists_async, path, answered, watch=session.watch(path, reread))
