"""Turns of refreshes."""

from threading import Event, Thread

from barnabas.pipeline.runner.turns import Turns


class Ending(Event):
    """Is asked while a thread waits for its turn: `is_waiting` is set from then on."""

    def __init__(self) -> None:
        super().__init__()
        self.is_waiting = Event()

    def is_set(self) -> bool:
        self.is_waiting.set()
        return super().is_set()


class Refreshing:
    """Threads that want a turn, each of which notes that it had one."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._threads: list[Thread] = []
        self.done: list[str] = []

    def start(self, name: str) -> Ending:
        ending = Ending()

        def work() -> None:
            with self._turns.taken(ending) as is_taken:
                self.done.append(name if is_taken else f"no {name}")

        self._threads.append(Thread(target=work))
        self._threads[-1].start()
        assert ending.is_waiting.wait(30)
        return ending

    def join(self) -> None:
        for thread in self._threads:
            thread.join(30)


def test_who_asked_first_is_next() -> None:
    turns = Turns()
    refreshing = Refreshing(turns)
    names = [f"job {number}" for number in range(8)]
    with turns.taken(Event()) as is_taken:
        for name in names:
            refreshing.start(name)
        assert (is_taken, refreshing.done) == (True, [])
    refreshing.join()
    assert refreshing.done == names


def test_who_ends_leaves_the_line_without_a_turn() -> None:
    turns = Turns()
    refreshing = Refreshing(turns)
    with turns.taken(Event()):
        refreshing.start("first").set()
        refreshing.join()
        assert refreshing.done == ["no first"]
        refreshing.start("second")
    refreshing.join()
    assert refreshing.done == ["no first", "second"]


def test_so_many_work_at_the_same_time_and_a_failed_one_gives_its_turn_back() -> None:
    turns = Turns(2)
    refreshing = Refreshing(turns)
    try:
        with turns.taken(Event()), turns.taken(Event()):
            refreshing.start("third")
            assert refreshing.done == []
            raise ZeroDivisionError
    except ZeroDivisionError:
        refreshing.join()
    assert refreshing.done == ["third"]
