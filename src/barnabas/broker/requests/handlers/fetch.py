"""Fetch (API key 1, v0-12): read record batches, waiting for new ones if needed.

A request continues a session (`fetches/sessions.py`), begins one, or has none. Then all partitions are read
(`fetches/reader.py`); if there is not enough data, it waits (`fetches/delayed_fetch.py`).

A repeated partition is read once, at its first place and from its last offset.

Source: protocol guide, Fetch; semantics, Fetch; KIP-74, KIP-227.
"""

from collections.abc import Sequence

from barnabas.broker.requests.context import RequestContext
from barnabas.broker.requests.fanout import in_slices
from barnabas.broker.requests.fetches.delayed_fetch import DelayedFetch, LargeDelayedFetch
from barnabas.broker.requests.fetches.reader import FetchReader, has_everything, is_follower, refused_answer
from barnabas.broker.requests.fetches.sessions import FINAL_EPOCH, INITIAL_EPOCH, FetchSession, Wanted
from barnabas.broker.requests.slices import MORE, MOST_ELEMENTS_AT_ONCE, Steps
from barnabas.broker.requests.table import Handler
from barnabas.core.error_code import ErrorCode
from barnabas.core.types import MOST_TOPIC_NAME_CHARACTERS, TopicPartition
from barnabas.wire.protocol.messages.fetch import FetchRequest, FetchResponse


@in_slices
def fetch(ctx: RequestContext, request: FetchRequest) -> Steps[FetchResponse]:
    """Answer with the available records, or wait until there are enough."""
    # hot path: benchmarks/load (every fetch request)
    is_large = ctx.is_large
    if is_large:
        # The request is decoded: from now on it counts as a waiting fetch, not as received bytes.
        ctx.keep_frame()()
    named: Wanted = {}
    for topic in request.topics:
        for each in topic.partitions:
            named[TopicPartition(topic.topic, each.partition)] = each
            if is_large:
                yield MORE
    forgotten: list[TopicPartition] = []
    for gone in request.forgotten_topics_data:
        for index in gone.partitions:
            forgotten.append(TopicPartition(gone.topic, index))
            if is_large:
                yield MORE
    opened = _open(ctx, request, named, forgotten)
    if isinstance(opened, FetchResponse):
        yield opened
        return
    wanted, session = opened
    if is_large or len(wanted) > MOST_ELEMENTS_AT_ONCE:
        # Also a small request whose session has many partitions.
        ctx.is_large = True
        yield LargeDelayedFetch(ctx, request, dict(wanted), session).begin()
        return
    if session is not None and session.is_privileged and has_everything(ctx, request, session):
        waiting = DelayedFetch(ctx, request, dict(wanted), session)
        waiting.wait()
        yield waiting.pending
        return
    reading = FetchReader(ctx, request, wanted, session)
    reading.read()
    if not reading.cold and (reading.is_complete or request.max_wait_ms <= 0):
        yield reading.answer()
        return
    own = wanted if session is None else dict(wanted)
    delayed = DelayedFetch(ctx, request, own, session)
    delayed.go_on(reading, request.max_wait_ms)
    yield delayed.pending


def _open(
    ctx: RequestContext, request: FetchRequest, named: Wanted, forgotten: Sequence[TopicPartition]
) -> FetchResponse | tuple[Wanted, FetchSession | None]:
    """Return the partitions to read and the session, if any; or the error response for a request that does not match
    its session.
    """
    sessions, epoch = ctx.services.fetch_sessions, request.session_epoch
    if epoch in (FINAL_EPOCH, INITIAL_EPOCH):
        # A full fetch ends the session that it names.
        sessions.close(request.session_id)
        if epoch == FINAL_EPOCH or not _may_be_kept(request):
            return named, None
        return named, FetchSession(named, request.replica_id >= 0 and is_follower(ctx, request.replica_id, named))
    if named and not _may_be_kept(request):
        # The reader starts over, without a session.
        sessions.close(request.session_id)
        return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    session = sessions.go_on(request.session_id, epoch, named, forgotten)
    if isinstance(session, ErrorCode):
        return FetchResponse(error_code=session)
    return (named, None) if session is None else (session.wanted, session)


def _may_be_kept(request: FetchRequest) -> bool:
    """Return whether a session may store the topic names of a request: not invalid names, which may be very long."""
    # differs from Kafka (fetch-session-names): Kafka stores every name.
    # `all` would make a generator, which costs more than the check itself.
    for topic in request.topics:
        if len(topic.topic) > MOST_TOPIC_NAME_CHARACTERS or not topic.topic.isascii():
            return False
    return True


def refuse(ctx: RequestContext, request: FetchRequest, error_code: ErrorCode) -> FetchResponse:
    """Return the same error for every requested item: the request failed as a whole."""
    return refused_answer(request, error_code, ctx.api_version, request.session_id)


HANDLER = Handler(FetchRequest, 0, 12, fetch, refuse)
