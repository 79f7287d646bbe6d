"""What the documents say is missing, is: no setting or feature that has an implementation is called without effect."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from barnabas.core.config.settings import TOPIC_SETTINGS
from barnabas.core.config.support import HONOURED
from barnabas.wire.quotas.limits import KINDS_BY_KEY

ROOT = Path(__file__).parents[2]
# What is generated from the tables of the code says what they say, and a decision says what was so when it was made.
GENERATED = ("configs.md", "metrics.md", "protocol.md")
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))
    if path.name not in GENERATED and path.parent.name != "adr"
)
THROTTLES = {
    *("leader.replication.throttled.rate", "follower.replication.throttled.rate"),
    "replica.alter.log.dirs.io.max.bytes.per.second",
}
WORKING = HONOURED | TOPIC_SETTINGS.keys() | KINDS_BY_KEY.keys() | THROTTLES
FEATURES = {
    r"replication (?:quotas?|throttl)|(?:quotas?|throttles?) of replication": "leader.replication.throttled.rate",
    r"read\w* from (?:a )?followers?|follower (?:reads|fetching)": "replica.selector.class",
    r"\btransactions?\b": "transactional.id.expiration.ms",
    r"delegation tokens?": "delegation.token.master.key",
    r"secured trees?": "zookeeper.set.acl",
    r"incremental fetch|fetch sessions?": "max.incremental.fetch.session.cache.slots",
}
MISSING = "## What is not there yet"
DENIAL = re.compile(
    r"\b(?:no|without) effect\b|\b(?:is|are) ignored\b|\bdoes nothing\b|\bthere is no \w+ yet\b|"
    r"\bnot (?:yet )?(?:implemented|supported|there|possible|available)\b",
    re.IGNORECASE,
)


def denials(document: str) -> Iterator[tuple[int, str]]:
    """Sentences of a document that deny something, with their lines.

    Of a row of a table its first and its last cell count, as what is between may be about Kafka; below the heading of
    what is missing each row denies something.
    """
    is_missing = False
    for block in re.finditer(r"(?:.*\S.*\n?)+", document):
        if block[0].startswith("#"):
            is_missing = block[0].startswith(MISSING)
        line = document.count("\n", 0, block.start()) + 1
        if not block[0].startswith("|"):
            yield from ((line, each) for each in re.split(r"(?<=[.:;])\s", block[0]) if DENIAL.search(each))
            continue
        for number, row in enumerate(block[0].splitlines(), line):
            cells = [cell.strip() for cell in row.strip("| ").split("|")]
            if is_missing or DENIAL.search(cells[-1]):
                yield number, f"{cells[0]} {cells[-1]}"


def contradicted(document: str) -> list[tuple[int, str, str]]:
    """What a document denies and the code has: line, setting, statement."""
    found = []
    for line, statement in denials(document):
        names = set(re.findall(r"`([\w.*-]+)[^`]*`", statement))
        names |= {name for pattern, name in FEATURES.items() if re.search(pattern, statement, re.IGNORECASE)}
        has = sorted(setting for setting in WORKING for name in names if fnmatchcase(setting, name))
        found += [(line, has[0], " ".join(statement.split()))] if has else []
    return found


@pytest.mark.parametrize("document", DOCUMENTS)
def test_nothing_that_works_is_said_to_be_missing(document: str) -> None:
    assert contradicted((ROOT / document).read_text()) == []


@pytest.mark.parametrize(
    "statement",
    [
        "Who leaves gives its descriptor back. Replication quotas have no effect: there is no replication yet.\n",
        "`num.network.threads` is fine. `retention.ms` is ignored.\n",
        f"{MISSING}\n\n| | |\n| --- | --- |\n| Of a cluster: reading from followers near by | later |\n",
        f"{MISSING}\n\n| | |\n| --- | --- |\n| Quotas (`*.replication.throttled.*`) | followers copy as they can |\n",
        "| `log.cleaner.enable` | true | set without effect |\n",
    ],
)
def test_a_false_statement_is_found(statement: str) -> None:
    assert contradicted(statement)


@pytest.mark.parametrize(
    "statement",
    ["| `retention.ms` | is ignored | deletes |\n", "`security.providers` is ignored. `retention.ms` works.\n"],
)
def test_a_true_statement_is_not(statement: str) -> None:
    assert not contradicted(statement)


@pytest.mark.parametrize("path", [*DOCUMENTS, "src"])
def test_nothing_is_installed_from_an_index_by_our_name(path: str) -> None:
    extras = set(re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE))
    sources = [ROOT / path] if path != "src" else [*(ROOT / "src").rglob("*.py")]
    for source in sources:
        text = source.read_text()
        assert not re.search(r"pip install[^\n`]* '?barnabas\b", text), source
        for named in re.findall(r"pip install '\.\[([\w,]+)\]'", text):
            assert set(named.split(",")) <= extras, source
