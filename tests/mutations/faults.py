"""The faults: one file for each room under `faults/`, `broker.log.toml` for `src/barnabas/broker/log`.

    [[fault]]
    name = "flush-forgets-directory"      what it is called; unique in its room
    file = "broker/log/durability.py"     under src/barnabas
    why = "..."                           what a user would lose
    old = '''...'''                       found exactly once in the file
    new = '''...'''                       what stands there instead

A fault names the text that it changes and no line, so that it survives what is changed around it. Where the text itself
is changed, the fault is to be written anew: `Fault.mutated` says so, and a unit test asks for all of them.
"""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path("src", "barnabas")
_FAULTS = Path(__file__).with_name("faults")


class FaultError(Exception):
    """A fault does not fit the code any more."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One deliberate fault.

    Attributes:
        room: The package that it is in: "broker.log".
        name: Unique in its room.
        file: Under src/barnabas.
        old: What stands in the file, once.
        new: What takes its place.
        why: What a user would lose.
    """

    room: str
    name: str
    file: str
    old: str
    new: str
    why: str

    @property
    def full_name(self) -> str:
        return f"{self.room}/{self.name}"

    @property
    def module(self) -> str:
        """The module that it is in: "barnabas.broker.log.flusher"."""
        path = PACKAGE.parts[-1:] + Path(self.file).with_suffix("").parts
        return ".".join(part for part in path if part != "__init__")

    def mutated(self, tree: Path) -> str:
        """Return the file's text with the fault in it.

        Args:
            tree: The repository, or a copy.

        Raises:
            FaultError: The file is gone, or the old text is not there exactly once.
        """
        path = tree / PACKAGE / self.file
        text = path.read_text() if path.exists() else ""
        count = text.count(self.old)
        if count != 1 or self.old == self.new:
            elsewhere = [
                str(other.relative_to(tree / PACKAGE))
                for other in sorted((tree / PACKAGE).rglob("*.py"))
                if other != path and self.old in other.read_text()
            ]
            hint = f"; it stands in {', '.join(elsewhere)}" if elsewhere else ""
            raise FaultError(f"{self.full_name}: the old text stands {count} times in {self.file}{hint}")
        return text.replace(self.old, self.new)


def load_faults(directory: Path = _FAULTS) -> list[Fault]:
    """Return all faults, by room and in the order of their files.

    Raises:
        FaultError: Two have the same name.
    """
    faults: dict[str, Fault] = {}
    for path in sorted(directory.glob("*.toml")):
        for entry in tomllib.loads(path.read_text()).get("fault", []):
            fault = Fault(room=path.stem, **entry)
            if fault.full_name in faults:
                raise FaultError(f"{fault.full_name} is there twice")
            faults[fault.full_name] = fault
    return list(faults.values())


def choose(faults: Iterable[Fault], wanted: Iterable[str]) -> list[Fault]:
    """Return those that are named, by themselves ("broker.log/x", "x") or by room ("broker.log", "broker").

    Raises:
        FaultError: A name that is wanted names none.
    """
    faults, chosen = list(faults), []
    for name in wanted:
        named = [
            fault
            for fault in faults
            if name in (fault.full_name, fault.name, fault.room) or fault.room.startswith(f"{name}.")
        ]
        if not named:
            raise FaultError(f"no fault and no room is called {name}")
        chosen += named
    return list(dict.fromkeys(chosen)) or faults
