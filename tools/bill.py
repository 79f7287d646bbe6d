"""Bill of materials of the wheels: every library with its exact version, as CycloneDX 1.6 (JSON).

It is read from the pinned requirements, which come from one resolution. Scopes: `required` for the broker's libraries,
`optional` for those of its extras, `excluded` for build tools, which are not part of a wheel. The same sources produce
the same bytes.

Source: CycloneDX 1.6, JSON reference; `uv pip compile` for the form of the requirements (`# via` names the dependents
of a library).
"""

import hashlib
import json
import re
import tomllib
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_LOCKS = ROOT / "requirements"
_PIN = re.compile(r"([a-z0-9][a-z0-9._-]*)==(\S+)(?: ; (.*?))?(?: \\)?")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(slots=True)
class Pin:
    """One library of a file of requirements.

    Attributes:
        marker: The environment marker; empty: all environments.
        hashes: SHA-256 of the files of that version.
        wanted_by: The libraries that depend on it.
    """

    name: str
    version: str
    marker: str = ""
    hashes: list[str] = field(default_factory=list)
    wanted_by: list[str] = field(default_factory=list)

    @property
    def reference(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"


def read_pins(lock: str) -> dict[str, Pin]:
    """Return the pins of a requirements file, by name."""
    pins: dict[str, Pin] = {}
    pin = Pin("", "")
    for line in (_LOCKS / f"{lock}.txt").read_text().splitlines():
        if match := _PIN.fullmatch(line):
            pin = pins[match[1]] = Pin(match[1], match[2], match[3] or "")
        elif match := re.match(r"    --hash=sha256:([0-9a-f]{64})", line):
            pin.hashes.append(match[1])
        elif match := re.fullmatch(r"    #(?: via)? +([a-z0-9][a-z0-9._-]*)", line):
            pin.wanted_by.append(match[1])
    return pins


def bill_of_materials(wheels: Sequence[Path]) -> bytes:
    """Return the bill of wheels of one version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version = _version_of(wheels)
    pins, builders = read_pins("dev"), read_pins("build")
    direct = _names(project["dependencies"])
    extras = {name: _names(wanted) for name, wanted in project["optional-dependencies"].items() if name != "dev"}
    required = _closure(direct, pins)
    optional = _closure({each for names in extras.values() for each in names} - {"barnabas"}, pins) - required
    own = f"pkg:pypi/barnabas@{version}"
    components = [_component(pins[name], "required") for name in sorted(required)]
    components += [_component(pins[name], "optional") for name in sorted(optional)]
    components += [_component(builders[name], "excluded") for name in sorted(builders.keys() - required - optional)]
    among = required | optional
    edges = {own: sorted(pins[each].reference for each in among & (direct | set().union(*extras.values())))}
    for name in sorted(among):
        edges[pins[name].reference] = sorted(pins[each].reference for each in among if name in pins[each].wanted_by)
    bill: dict[str, object] = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": "barnabas",
                "version": version,
                "purl": own,
                "licenses": [{"expression": project["license"]}],
                "properties": [{"name": f"sha256:{each.name}", "value": _digest(each)} for each in wheels],
            }
        },
        "components": components,
        "dependencies": [{"ref": ref, "dependsOn": wanted} for ref, wanted in edges.items()],
    }
    bill["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bill))}"
    return json.dumps(bill, indent=1).encode() + b"\n"


def write_bill(wheels: Sequence[Path], directory: Path) -> Path:
    """Write the bill into `directory`; return its path."""
    path = directory / f"barnabas-{_version_of(wheels)}.cdx.json"
    path.write_bytes(bill_of_materials(wheels))
    return path


def _version_of(wheels: Sequence[Path]) -> str:
    (version,) = {wheel.name.split("-")[1] for wheel in wheels}
    return version


def _names(requirements: Iterable[str]) -> set[str]:
    found = (_NAME.match(each) for each in requirements)
    return {re.sub(r"[-_.]+", "-", match[0]).lower() for match in found if match is not None}


def _closure(names: set[str], pins: dict[str, Pin]) -> set[str]:
    """Return libraries with all their dependencies."""
    found: set[str] = set()
    while names:
        found |= names
        names = {pin.name for pin in pins.values() if not found.isdisjoint(pin.wanted_by)} - found
    return found


def _component(pin: Pin, scope: str) -> dict[str, object]:
    component: dict[str, object] = {
        "type": "library",
        "bom-ref": pin.reference,
        "name": pin.name,
        "version": pin.version,
        "scope": scope,
        "purl": pin.reference,
        "externalReferences": [
            {
                "type": "distribution",
                "url": f"https://pypi.org/project/{pin.name}/{pin.version}/",
                "hashes": [{"alg": "SHA-256", "content": each} for each in pin.hashes],
            }
        ],
    }
    if pin.marker:
        component["properties"] = [{"name": "marker", "value": pin.marker}]
    return component


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
