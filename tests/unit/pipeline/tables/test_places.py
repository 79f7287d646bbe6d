import pytest

from barnabas.pipeline.tables.places import FORMATS, requirements_of
from barnabas.pipeline.tables.table import TableError


def test_formats_are_needed_together_without_losing_one() -> None:
    assert requirements_of("delta", "iceberg", "postgresql", "delta").settings == requirements_of("iceberg").settings


def test_no_format_needs_anything_from_maven_central() -> None:
    assert requirements_of(*FORMATS).packages == ()
    assert requirements_of("parquet") == ((), {})
    assert requirements_of() == ((), {})


def test_an_unknown_format_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(TableError, match="'csv'; there are " + ", ".join(FORMATS)):
        requirements_of("delta", "csv")
