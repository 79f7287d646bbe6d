"""How a cluster is asked about quotas."""

from barnabas.pipeline.runner.questions import Questions


def test_who_refuses_three_times_in_a_row_is_kafka():
    questions = Questions()
    questions.note_refused()
    questions.note_refused()
    assert not questions.is_kafka
    questions.note_refused()
    assert questions.is_kafka


def test_a_connection_that_was_dropped_makes_nobody_kafka():
    questions = Questions()
    questions.note_refused()
    questions.note_refused()
    questions.note_explained()
    for _ in range(9):
        questions.note_refused()
    assert questions.has_explained
    assert not questions.is_kafka


def test_who_was_denied_asks_again_after_minutes():
    questions = Questions()
    # It may be a Barnabas that will explain its quotas yet.
    questions.note_denied(0.0)
    assert questions.may_see_limits(0.0)
    for _ in range(3):
        questions.note_refused()
    questions.note_denied(10.0)
    assert not questions.may_see_limits(189.0)
    assert questions.may_see_limits(190.0)
