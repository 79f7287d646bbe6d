"""Files of a run's checkpoint on this machine; `tests/pipeline/test_object_stores.py` has those in a store."""

from pathlib import Path

import pytest

from barnabas.pipeline.runner.checkpoint import Files


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
def test_a_file_is_read_as_it_was_last_written(scheme: str, tmp_path: Path) -> None:
    files = Files(f"{scheme}{tmp_path}/not there yet/a run", {})
    assert files.read("progress.json") is None
    for text in ("first", "zweite Fassung: ü"):
        files.write("progress.json", text)
        assert files.read("progress.json") == text
        assert [each.name for each in (tmp_path / "not there yet" / "a run").iterdir()] == ["progress.json"]
    files.remove()
    assert files.read("progress.json") is None


def test_a_file_that_cannot_be_written_leaves_the_older_one(tmp_path: Path) -> None:
    files = Files(str(tmp_path), {})
    files.write("progress.json", "first")
    (tmp_path / ".progress.json.partial").mkdir()
    with pytest.raises(OSError, match="partial"):
        files.write("progress.json", "second")
    assert files.read("progress.json") == "first"
