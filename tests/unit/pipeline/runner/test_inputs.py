from barnabas.pipeline.runner.inputs import input_topics, not_there


def test_topics_by_name_and_by_pattern():
    there = ["clicks", "page-searches", "page-views"]
    assert input_topics(there, ["page-views", "absent"]) == ["page-views"]
    assert input_topics(there, ["/page-.*/"]) == ["page-searches", "page-views"]
    # The whole name must match, and a topic that is wanted twice comes once.
    assert input_topics(there, ["/page/", "clicks", "/c.*/"]) == ["clicks"]


def test_a_pattern_matches_no_dead_letter_topic_and_a_name_does():
    there = ["a", "a.dlq", "a.dlq.dlq"]
    assert input_topics(there, ["/a.*/"]) == ["a"]
    assert input_topics(there, ["/a.*/", "a.dlq"]) == ["a", "a.dlq"]


def test_topics_that_are_not_there_are_told_with_what_is_called_alike():
    there = ["clicks", "page-searches", "page-views"]
    assert not_there(["page-view", "absent"], there) == "page-view, absent (there is page-views)"
    assert not_there(["absent"], there) == "absent (there is clicks, page-searches, page-views)"
    assert not_there(["absent"], list("abcdefg")) == "absent (there is a, b, c, d, e and 2 more)"
    assert not_there(["absent"], []) == "absent (there is no topic)"
