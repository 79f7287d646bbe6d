"""The staged files of a run: none is left, wherever they are."""

from pathlib import Path

import pyarrow as pa
import pytest

from barnabas.pipeline.runner.staging import Staging


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_files_of_this_run_and_of_a_killed_one_are_deleted(scheme: str, tmp_path: Path) -> None:
    directory = f"{scheme}{tmp_path}/staged"
    for _ in range(2):
        writer = Staging(None, directory, {}).sink().open()
        writer.write(pa.table({"a": [1]}))
        (file,) = writer.close()
        assert (tmp_path / "staged" / file.path).exists()
    staging = Staging(None, directory, {})
    staging.clear()
    assert list((tmp_path / "staged").iterdir()) == []
    writer = staging.sink().open()
    writer.write(pa.table({"a": [1]}))
    writer.close()
    staging.clear()
    assert list((tmp_path / "staged").iterdir()) == []


def test_a_directory_that_is_not_there_is_clear(tmp_path: Path) -> None:
    Staging(None, str(tmp_path / "staged"), {}).clear()
