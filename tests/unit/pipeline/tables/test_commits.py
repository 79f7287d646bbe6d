"""What a Parquet table's notes say of its runs."""

from barnabas.pipeline.tables.commits import Note, Snapshot
from barnabas.pipeline.tables.table import Progress


def progress(run, sequence):
    return Progress(run, sequence, "cluster", {"t": {0: 10 * sequence}}, {})


def note(writer, *runs):
    return Note(writer, {each.run: each for each in runs}, "{}", ())


def test_of_each_run_the_newest_progress_counts_whichever_note_has_it():
    notes = [note("a", progress("x", 3), progress("y", 1)), note("b", progress("x", 2), progress("y", 4))]
    for order in (notes, notes[::-1]):
        assert Snapshot((), tuple(order)).runs == {"x": progress("x", 3), "y": progress("y", 4)}


def test_a_note_is_read_as_it_was_written():
    written = Note("me", {"x": progress("x", 3)}, '{"type":"struct","fields":[]}', ("day",))
    assert Note.from_json(written.to_json()) == written
