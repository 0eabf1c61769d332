"""Watches single znodes for their data, and branches for their children.

Every read sets its watch, and every watch that fires causes a read, so no change falls between a
read and its watch. A path that does not exist is watched for its creation.
"""

from collections.abc import Sequence

from kazoo.protocol.states import ZnodeStat

from migration.observed.znodes import BROKER_IDS
from streams.zookeeper.emitter import Emitter
from streams.zookeeper.session import Action, Session


class Tree:
    """Reads paths for one session and updates the `Emitter`."""

    def __init__(
        self, session: Session, emitter: Emitter, data: Sequence[str], branches: Sequence[str]
    ) -> None:
        """Prepare: `session` sends the requests, `emitter` receives each znode found or gone.

        `data` has paths of znodes; `branches` has paths of znodes whose children are read, each
        with its data.
        """
        self._session = session
        self._client = session.client
        self._emitter = emitter
        self._data = data
        self._branches = branches
        self._watched: set[str] = set()

    def read(self) -> None:
        # Of topics to delete there may be thousands, and only their names matter.
        self._watched -= self._emitter.known.below(BROKER_IDS)
        for path in self._data:
            self._read(path)
        for branch in self._branches:
            self._list(branch)

    def _read(self, path: str) -> None:
        def answered(found: tuple[bytes | None, ZnodeStat] | None) -> None:
            if found is None:
                self._emitter.remove(path)
                await_creation(self._session, path, reread)
            else:
                self._emitter.update(path, *found)

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
                self._read_child(path)
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

    def _read_child(self, path: str) -> None:
        """Read a child. While it does not exist only its branch is watched."""

        def answered(found: tuple[bytes | None, ZnodeStat] | None) -> None:
            if found is None:
                self._watched.discard(path)
                self._emitter.remove(path)
            else:
                self._watched.add(path)
                self._emitter.update(path, *found)

        self._session.ask(
            self._client.get_async,
            path,
            answered,
            watch=self._session.watch(path, lambda: self._read_child(path)),
        )


def await_creation(session: Session, path: str, reread: Action) -> None:
    """Watch a path that did not exist; call `reread` immediately if it exists by now.

    Only `exists` sets a watch on an absent znode (DataTree.getData and getChildren set none).
    """

    def answered(stat: ZnodeStat | None) -> None:
        if stat is not None:
            reread()

    session.ask(session.client.exists_async, path, answered, watch=session.watch(path, reread))
