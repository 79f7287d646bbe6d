from barnabas.pipeline.runner.query import first_line, matching_topics


def test_topics_by_name_and_by_pattern():
    there = ["clicks", "page-searches", "page-views"]
    assert matching_topics(there, ["page-views", "absent"]) == ["page-views"]
    assert matching_topics(there, ["/page-.*/"]) == ["page-searches", "page-views"]
    # The whole name must match, and a topic that is wanted twice comes once.
    assert matching_topics(there, ["/page/", "clicks", "/c.*/"]) == ["clicks"]


def test_an_error_in_one_line():
    assert first_line(ValueError("a\nb")) == "a"
    assert first_line(ValueError()) == "ValueError"
