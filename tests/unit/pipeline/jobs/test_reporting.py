import pytest

from barnabas.pipeline.jobs.reporting import JOB
from barnabas.pipeline.jobs.reporting.funnel import DEFAULT, Step, parse


def test_steps_of_a_funnel_have_types_and_a_pattern():
    assert parse(" page_view ^/shop/ ;click|search; vote | post  a b|c") == (
        Step("page_view ^/shop/", ("page_view",), "^/shop/"),
        Step("click|search", ("click", "search"), ""),
        Step("vote | post  a b|c", ("vote", "post"), "a b|c"),
    )
    assert [step.types for step in parse(DEFAULT)] == [("page_view",), ("search",), ("click",), ("vote", "post")]


@pytest.mark.parametrize("text", ["", "page_view;", "pageview", "page_view|", "page_view^/a", "follow"])
def test_step_that_names_no_type_of_the_job_is_refused(text):
    with pytest.raises(ValueError, match=r"^funnel: step .* is not of the form 'type\|type pattern'; types: page"):
        parse(text)


def test_tables_of_the_declaration_are_distinct_and_named_for_the_job():
    names = [output.name for output in JOB.outputs]
    assert len(set(names)) == len(names)
    assert all(name.startswith("report_") for name in names)
