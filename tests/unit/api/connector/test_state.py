"""What a member does next, after whatever happened."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.api.connector.state import MemberState, Step


def settled(max_retries: int = 3) -> MemberState:
    state = MemberState(max_retries)
    state.note_registered(0)
    state.begin_rebalance()
    state.note_rebalanced(0)
    assert state.is_settled
    return state


def test_it_registers_first_and_then_rebalances() -> None:
    state = MemberState(3)
    assert state.next_step is Step.REGISTER
    state.note_registered(0)
    assert state.next_step is Step.REBALANCE
    state.begin_rebalance()
    state.note_rebalanced(0)
    assert state.next_step is Step.NOTHING


def test_a_change_while_it_rebalances_leads_to_another() -> None:
    state = settled()
    state.note_change()
    state.begin_rebalance()
    state.note_change()
    state.note_rebalanced(0)
    assert state.next_step is Step.REBALANCE


def test_a_failure_backs_off_and_every_third_is_one_too_many() -> None:
    state = settled()
    told = []
    for _ in range(6):
        state.begin_rebalance()
        told.append(state.note_failed(0))
        assert state.next_step is Step.BACK_OFF
        state.note_backed_off()
        assert state.next_step is Step.REBALANCE
    assert told == [False, False, True] * 2


def test_success_forgets_the_failures_before() -> None:
    state = settled(2)
    for _ in range(3):
        state.begin_rebalance()
        assert not state.note_failed(0)
        state.note_backed_off()
        state.begin_rebalance()
        state.note_rebalanced(0)
        state.note_change()


def test_nothing_is_done_without_a_connection_and_all_is_read_again_with_the_next() -> None:
    state = settled()
    state.note_suspended()
    state.note_change()
    assert state.next_step is Step.NOTHING
    assert not state.is_settled
    state.note_connected()
    assert state.next_step is Step.REBALANCE


def test_in_another_session_it_registers_anew() -> None:
    state = settled()
    state.note_suspended()
    state.note_expired()
    state.note_connected()
    assert state.next_step is Step.REGISTER
    state.note_registered(0)
    assert state.next_step is Step.REGISTER, "that was in the session before"
    state.note_registered(1)
    assert state.next_step is Step.REBALANCE


def test_what_fails_for_a_lost_session_is_no_failure_of_the_group() -> None:
    state = settled(1)
    state.begin_rebalance()
    state.note_suspended()
    assert not state.note_failed(0)
    state.note_expired()
    state.note_connected()
    assert not state.note_failed(0)
    assert state.next_step is Step.REGISTER


EVENTS = st.sampled_from(["change", "suspend", "expire", "connect", "register", "begin", "succeed", "fail", "back off"])


@given(st.lists(st.tuples(EVENTS, st.integers(0, 3))))
def test_a_change_is_never_forgotten(events: list[tuple[str, int]]) -> None:
    state, is_unseen = MemberState(2), True
    for event, age in events:
        epoch = max(0, state.epoch - age)
        match event:
            case "change":
                state.note_change()
                is_unseen = True
            case "suspend":
                state.note_suspended()
            case "expire":
                state.note_expired()
                is_unseen = True
            case "connect":
                state.note_connected()
                is_unseen = True
            case "register":
                state.note_registered(epoch)
            case "begin":
                if state.next_step is Step.REBALANCE:
                    state.begin_rebalance()
                    is_unseen = False
            case "succeed":
                state.note_rebalanced(epoch)
            case "fail":
                state.note_failed(epoch)
                is_unseen = True
            case "back off":
                state.note_backed_off()
        assert not (is_unseen and state.is_settled)
