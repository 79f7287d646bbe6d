from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.registry.zookeeper_server.watches import Watches
from barnabas.wire.registry.store import EventType, WatchEvent

PATHS = ("/", "/a", "/b")
KINDS = (EventType.CREATED, EventType.DELETED, EventType.CHANGED, EventType.CHILD)

paths = st.sampled_from(PATHS)
watchers = st.integers(1, 3)
steps = st.one_of(
    st.tuples(st.just("add"), paths, watchers, st.booleans()),
    st.tuples(st.just("remove"), paths, watchers, st.tuples(st.booleans(), st.booleans())),
    st.tuples(st.just("forget"), watchers),
    st.tuples(st.just("event"), paths, st.sampled_from(KINDS)),
)


@given(st.lists(steps, max_size=60))
def test_watches_are_as_in_a_list_of_them(history: list[tuple]) -> None:
    """Against the simplest model: a list of (path, watcher, is it on children), in the order in which they were set."""
    watches: Watches[int] = Watches()
    model: list[tuple[str, int, bool]] = []
    for step in history:
        match step:
            case "add", path, watcher, on_children:
                (watches.add_children if on_children else watches.add_data)(path, watcher)
                if (path, watcher, on_children) not in model:
                    model.append((path, watcher, on_children))
            case "remove", path, watcher, (data, children):
                watches.remove(path, watcher, data, children)
                gone = [(path, watcher, each) for each, is_meant in ((False, data), (True, children)) if is_meant]
                model = [each for each in model if each not in gone]
            case "forget", watcher:
                while watches.remove_some(watcher, 1):
                    continue
                model = [each for each in model if each[1] != watcher]
            case "event", path, kind:
                met = [
                    each
                    for each in model
                    if each[0] == path and (kind is EventType.DELETED or each[2] == (kind is EventType.CHILD))
                ]
                told = dict.fromkeys(each[1] for each in sorted(met, key=lambda each: each[2]))
                assert watches.trigger(WatchEvent(kind, path)) == list(told)
                model = [each for each in model if each not in met]
        assert watches.counts() == (len({each[1] for each in model}), len({each[0] for each in model}), len(model))
        assert (watches.kept_bytes > 0) == bool(model)
        for path in PATHS:
            assert watches.has(path, 1, True, False) == ((path, 1, False) in model)


def test_the_largest_watches_are_counted_no_more_once_they_are_to_go() -> None:
    watches: Watches[int] = Watches()
    watches.add_data("/" + "x" * 1_000, 1)
    before_bytes = watches.kept_bytes
    watches.add_data("/" + "y" * 500, 2)
    watches.add_children("/" + "y" * 500, 2)
    watches.add_children("/" + "y" * 500, 2)
    watches.add_children("/" + "z" * 500, 2)
    assert watches.dismiss_largest() == 2
    assert watches.kept_bytes == before_bytes
    assert not watches.remove_some(2, 10)
    assert watches.kept_bytes == before_bytes
    assert not watches.remove_some(1, 10)
    assert watches.kept_bytes == 0
