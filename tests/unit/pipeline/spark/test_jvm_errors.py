"""What failed in Spark, in one line."""

import pytest

from barnabas.pipeline.spark.jvm_errors import last_words, reason_of

NOT_FOUND = """WARNING: Using incubator modules: jdk.incubator.vector
Ivy Default Cache set to: /srv/ivy/cache
:::: WARNINGS
\t\tmodule not found: org.example#nosuch_2.13;1.0

\t==== maven: tried

\t  https://repo.example.org/org/example/nosuch_2.13/1.0/nosuch_2.13-1.0.pom

\t\t::          UNRESOLVED DEPENDENCIES         ::

\t\t:: org.example#nosuch_2.13;1.0: not found

:: USE VERBOSE OR DEBUG MESSAGE LEVEL FOR MORE DETAILS
Exception in thread "main" java.lang.RuntimeException: [unresolved dependency: org.example#nosuch_2.13;1.0: not found]
\tat org.apache.spark.util.MavenUtils$.resolveMavenCoordinates(MavenUtils.scala:540)
"""
EARLIER = NOT_FOUND.replace("nosuch", "earlier")
FULL = """Exception in thread "main" org.apache.spark.SparkException: it failed
\tat org.apache.spark.deploy.SparkSubmit.main(SparkSubmit.scala)
Caused by: java.io.IOException: No space left on device
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
\t... 9 more
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            EARLIER + NOT_FOUND,
            "the package org.example:nosuch_2.13:1.0 could not be fetched: not found: "
            "https://repo.example.org/org/example/nosuch_2.13/1.0/nosuch_2.13-1.0.pom; let BARNABAS_MAVEN_REPOSITORY "
            "name a repository that has it and that this machine can reach, or copy /srv/ivy from a machine "
            "that has fetched it",
        ),
        (
            FULL,
            "java.io.IOException: No space left on device; make room on that disk, or name another one by --scratch",
        ),
        (
            "Error occurred during initialization of VM\nToo small maximum heap\n",
            "Error occurred during initialization of VM Too small maximum heap",
        ),
        ("", ""),
    ],
)
def test_last_words_of_a_jvm(text: str, words: str):
    assert last_words(text) == words


def test_an_error_in_one_line():
    assert reason_of(ValueError("a\nb")) == "a"
    assert reason_of(ValueError()) == "ValueError"
    of_worker = (
        "It was thrown.\nTraceback (most recent call last):\n  File x, line 1, in f\n    g()\nValueError: a\nb\n"
    )
    assert reason_of(RuntimeError(of_worker)) == "ValueError: a"
