"""Of offsets over time is kept what tells how they moved."""

from barnabas.explain.offset_history import OffsetHistory


def moves(*seen: tuple[int, int]) -> OffsetHistory[str]:
    made = OffsetHistory[str]()
    for at_ms, offset in seen:
        made.record("a", at_ms, offset)
    return made


def test_each_move_is_kept_and_of_a_rest_its_begin_and_its_end() -> None:
    made = moves((1, 5), (2, 5), (3, 5), (4, 7), (5, 7), (6, 7))
    assert made.of("a") == [(1, 5), (3, 5), (4, 7), (6, 7)]
    assert made.of("b") == []


def test_a_clock_that_is_set_back_leaves_what_is_so_now_at_the_end() -> None:
    assert moves((1, 5), (9, 6), (2, 7)).of("a") == [(1, 5), (2, 7)]


def test_what_always_moves_is_kept_for_sixty_looks() -> None:
    assert moves(*((number, number) for number in range(100))).of("a") == [(each, each) for each in range(40, 100)]


def test_what_was_so_at_a_moment_is_known_after_it_was_forgotten() -> None:
    made = moves((1, 5), (3, 5), (4, 7), (6, 8))
    made.forget(4)
    assert made.of("a") == [(4, 7), (6, 8)]
    made.forget(5)
    assert made.of("a") == [(4, 7), (6, 8)]


def test_who_was_not_seen_since_is_forgotten() -> None:
    made = moves((1, 5))
    made.record("b", 3, 1)
    made.forget(2)
    assert made.of("a") == []
    assert made.of("b") == [(3, 1)]
