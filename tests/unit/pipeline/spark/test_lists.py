"""Settings that are lists: a user's add to those that are needed."""

from barnabas.pipeline.spark.session import combined


def test_lists_have_what_stands_in_both_once() -> None:
    own = {"spark.jars.packages": "a:a:1,b:b:1", "spark.sql.extensions": "Delta", "spark.master": "local[2]"}
    more = {"spark.jars.packages": "c:c:1,a:a:1", "spark.sql.extensions": "Sedona", "spark.master": "yarn"}
    assert combined(own, more) == {
        "spark.jars.packages": "a:a:1,b:b:1,c:c:1",
        "spark.sql.extensions": "Delta,Sedona",
        "spark.master": "yarn",
    }


def test_a_list_that_stands_in_one_alone_stays() -> None:
    assert combined({"spark.jars.packages": ""}, {"spark.jars": "x.jar", "spark.jars.packages": "c:c:1"}) == {
        "spark.jars": "x.jar",
        "spark.jars.packages": "c:c:1",
    }
    assert combined({"spark.sql.extensions": "Delta"}, {}) == {"spark.sql.extensions": "Delta"}


def test_java_options_are_added_behind_ours() -> None:
    own = {"spark.driver.extraJavaOptions": "-Da=1"}
    assert combined(own, {"spark.driver.extraJavaOptions": "-Db=2"}) == {"spark.driver.extraJavaOptions": "-Da=1 -Db=2"}
