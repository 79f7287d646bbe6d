"""The pinned requirements: exact, hashed, with no index in them, and all of one resolution."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = ("broker", "demo", "dev", "build")


def pins(lock: str) -> dict[str, str]:
    text = (ROOT / "requirements" / f"{lock}.txt").read_text()
    return dict(re.findall(r"^([a-z0-9][\w.-]*)==(\S+)", text, re.MULTILINE))


@pytest.mark.parametrize("lock", LOCKS)
def test_everything_is_pinned_and_hashed_and_no_index_is_named(lock: str) -> None:
    text = (ROOT / "requirements" / f"{lock}.txt").read_text()
    assert not re.search(r"https?:|--(extra-)?index-url|--find-links|--trusted-host|file:| @ ", text)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    requirements = [line for line in "\n".join(lines).replace("\\\n", " ").splitlines() if line.strip()]
    assert len(requirements) == len(pins(lock))
    for requirement in requirements:
        assert "--hash=sha256:" in requirement


def test_smaller_locks_are_part_of_the_largest() -> None:
    largest = pins("dev")
    for lock in ("broker", "demo", "build"):
        assert pins(lock).items() <= largest.items()
    assert pins("broker").items() <= pins("demo").items()


def test_the_locks_hold_what_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    wanted = {
        "broker": project["project"]["dependencies"] + project["build-system"]["requires"],
        "demo": extras["clients"] + extras["pipeline"],
        "dev": extras["dev"],
        "build": project["build-system"]["requires"],
    }
    for lock, requirements in wanted.items():
        for requirement in requirements:
            name = re.split(r"[\[<>=!~;, ]", requirement)[0].lower()
            assert name in pins(lock), f"{name} is not in {lock}.txt: run scripts/lock"
            exact = re.search(r"==([\w.]+)", requirement)
            if exact is not None:
                assert pins(lock)[name] == exact[1], f"{name} in {lock}.txt is not {exact[1]}: run scripts/lock"


def test_the_compiler_is_the_one_that_the_checks_use() -> None:
    compiler = re.search(r'^COMPILER = "mypy==(\S+)"$', (ROOT / "setup.py").read_text(), re.MULTILINE)
    assert compiler is not None
    assert compiler[1] == pins("dev")["mypy"] == pins("build")["mypy"]
