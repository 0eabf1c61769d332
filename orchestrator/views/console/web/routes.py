"""The routes below /api; those that read files do so in a thread."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar, cast, get_args

import anyio
from anyio import CapacityLimiter, to_thread
from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from migration.image.summary import BrokerSummary
from orchestrator.api.console.answers import (
    ActionRequest,
    Session,
    schema_text,
)
from orchestrator.config.load import Config
from orchestrator.execution.allowed import Action
from orchestrator.run.assessed import Tick
from orchestrator.runbook.loaded import Loaded
from orchestrator.views.console.access.permissions import Access
from orchestrator.views.console.access.redaction import RedactedJson
from orchestrator.views.console.access.refusals import Refused, json_response
from orchestrator.views.console.answers.gate import gate_evidence
from orchestrator.views.console.answers.pending_replicas import ReplicaQuery, Replicas
from orchestrator.views.console.answers.query import checked
from orchestrator.views.console.answers.timeline import History, TimelineQuery, history
from orchestrator.views.console.feed.event_stream import EventStream
from orchestrator.views.console.feed.hub import Hub
from orchestrator.views.console.state.approvable import ShownBases
from orchestrator.views.console.web.actions import act

_BODY_BYTES_MAX: Final = 16 * 1024
_BODY_S_MAX: Final = 10.0
_THREADS: Final = 4
_ACTION_THREADS: Final = 2
"""Separate threads, so that an approval or an abort never waits for readers."""
_JSON: Final = "application/json"

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    """Handles the requests below /api.

    Attributes:
        insecure: whether the console serves plain HTTP beyond loopback.
        tls: whether it serves HTTPS.
        loaded: the runbook of each cluster that has one.
        tick: returns the last tick; None before the first.
        bases: the states that pages were shown for an approval.
    """

    config: Config
    cleaner: RedactedJson
    hub: Hub
    access: Access
    insecure: bool
    tls: bool
    replicas: Replicas
    loaded: Mapping[str, Loaded]
    tick: Callable[[], Tick | None]
    bases: ShownBases
    _threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(_THREADS))
    _action_threads: CapacityLimiter = field(
        default_factory=lambda: CapacityLimiter(_ACTION_THREADS)
    )

    def routes(self) -> list[Route]:
        cluster = "/api/clusters/{cluster}"
        get, post = ["GET"], ["POST"]
        return [
            Route("/api/state", self.state, methods=get),
            Route("/api/stream", self.stream, methods=get),
            Route("/api/schema", self.schema, methods=get),
            Route("/api/session", self.session, methods=get),
            Route("/api/session", self.begin_session, methods=post),
            Route(f"{cluster}/timeline", self.timeline, methods=get),
            Route(f"{cluster}/events", self.events, methods=get),
            Route(f"{cluster}/brokers/{{broker}}/pending", self.pending, methods=get),
            Route(f"{cluster}/checkpoints/{{checkpoint}}", self.gate, methods=get),
            *(
                Route(f"{cluster}/{each}", self.act, name=each, methods=post)
                for each in get_args(Action)
            ),
        ]

    async def state(self, _: Request) -> Response:
        return Response(self.hub.since(0), media_type=_JSON)

    async def stream(self, request: Request) -> Response:
        """Return the event stream: the whole state, then the changes."""
        reserved = self.access.has_shown_token(request)
        permits = self.access.has_shown_token if reserved else self.access.may_read
        return EventStream(self.hub, reserved=reserved, may_go_on=lambda: permits(request))

    async def schema(self, _: Request) -> Response:
        return Response(schema_text(), media_type="application/schema+json")

    async def session(self, request: Request) -> Response:
        access = self.access
        return self._json(
            Session(
                token_to_read=access.token_to_read,
                may_read=access.may_read(request),
                insecure=self.insecure,
            )
        )

    async def begin_session(self, request: Request) -> Response:
        """Check the token and set the cookie with which this browser may read."""
        self.access.check_writer(request.headers)
        session = self.access.begin_session()  # of the token that was checked
        await _body(request)
        answer = Response(status_code=204)
        answer.set_cookie(
            self.access.cookie,
            session,
            path="/",
            httponly=True,
            secure=self.tls,
            samesite="strict",
        )
        return answer

    async def timeline(self, request: Request) -> Response:
        return await self._history(request, History.timeline)

    async def events(self, request: Request) -> Response:
        return await self._history(request, History.page)

    async def _history(
        self, request: Request, answer: Callable[[History, str, TimelineQuery], BaseModel]
    ) -> Response:
        cluster, wanted = self._cluster(request), TimelineQuery.of(request)

        def read() -> BaseModel:
            with history(self.config.state_dir) as opened:
                return answer(opened, cluster, wanted)

        return self._json(await self._in_thread(read))

    async def pending(self, request: Request) -> Response:
        cluster, wanted = self._cluster(request), ReplicaQuery.of(request)
        broker = self._broker(cluster, wanted.broker)
        page = await self._in_thread(lambda: self.replicas.page(cluster, broker, wanted))
        return self._json(page)

    async def gate(self, request: Request) -> Response:
        cluster, checkpoint = self._cluster(request), request.path_params["checkpoint"]
        loaded = self.loaded.get(cluster)
        found = await self._in_thread(
            lambda: gate_evidence(self.config.state_dir, cluster, checkpoint, loaded)
        )
        return self._json(found)

    async def act(self, request: Request) -> Response:
        self.access.check_writer(request.headers)
        cluster, action = self._cluster(request), request.url.path.rpartition("/")[2]
        wanted = self._action(await _body(request))
        host = request.client.host if request.client else "unknown"
        config, bases = self.config, self.bases
        done = await to_thread.run_sync(
            lambda: act(config, cluster, cast(Action, action), wanted, host, bases),
            limiter=self._action_threads,
        )
        return self._json(done)

    def _action(self, body: bytes) -> ActionRequest:
        wanted = checked(ActionRequest, body)
        if any(
            self.access.token.is_in(text)
            for text in (wanted.who, wanted.reason, wanted.checkpoint or "")
        ):
            raise Refused(400, "bad_request", "remove the token from the request")
        return wanted

    def _cluster(self, request: Request) -> str:
        name: str = request.path_params["cluster"]
        if name not in {each.name for each in self.config.clusters}:
            raise Refused(404, "not_found", "no such cluster is configured")
        return name

    def _broker(self, cluster: str, id_: int) -> BrokerSummary:
        tick = self.tick()
        found = None if tick is None else tick.cluster(cluster).summary.broker(id_)
        if found is None:
            raise Refused(404, "not_found", f"broker {id_} is not known in {cluster}")
        return found

    def _json(self, model: BaseModel) -> Response:
        return json_response(self.cleaner, model)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """Read files outside the event loop; the end of the console does not wait for it."""
        return await to_thread.run_sync(work, limiter=self._threads, abandon_on_cancel=True)


async def _body(request: Request) -> bytes:
    """Return the body if it is short enough and arrives in time."""
    body = b""
    try:
        with anyio.move_on_after(_BODY_S_MAX) as scope:
            async for chunk in request.stream():
                body += chunk
                if len(body) > _BODY_BYTES_MAX:
                    raise Refused(413, "too_long", f"more than {_BODY_BYTES_MAX} bytes")
    except ClientDisconnect:
        raise Refused(400, "bad_request", "the client disconnected within the body") from None
    if scope.cancelled_caught:
        raise Refused(400, "bad_request", "the body did not arrive in time")
    return body
