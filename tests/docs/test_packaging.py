"""What goes to a package index says who made it and under which terms, and leads nowhere that is not there."""

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from tests.docs.test_examples import copy_of_the_repository
from tests.docs.test_requirements import pins
from tests.patience import PATIENCE_S
from tools.bill import bill_of_materials, write_bill

BUILD = "import sys; from setuptools import build_meta as b; print(); print(getattr(b, sys.argv[1])(sys.argv[2]))"
TERMS = ("LICENSE", "NOTICE")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_the_repository(tmp_path_factory.mktemp("packaging") / "clone")


def build(clone: Path, what: str) -> Path:
    """Call the build backend as `pip` does, without another environment."""
    command = [sys.executable, "-c", BUILD, what, "dist"]
    result = subprocess.run(command, cwd=clone, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert result.returncode == 0, result.stderr
    return clone / "dist" / result.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def wheel_path(clone: Path) -> Path:
    return build(clone, "build_wheel")


@pytest.fixture(scope="module")
def wheel(wheel_path: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(wheel_path)


@pytest.fixture(scope="module")
def sdist(clone: Path) -> tarfile.TarFile:
    return tarfile.open(build(clone, "build_sdist"))


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = (each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def test_the_metadata_says_who_and_what(metadata: Message) -> None:
    assert metadata["Author"] == "The Barnabas authors"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Keywords"]
    classifiers = metadata.get_all("Classifier")
    assert "Typing :: Typed" in classifiers
    # The expression above says it; an index refuses both.
    assert not [each for each in classifiers if each.startswith("License ::")]


def test_the_description_leads_nowhere_that_an_index_does_not_have(metadata: Message) -> None:
    description = str(metadata.get_payload())
    assert description.startswith("# Barnabas")
    assert [target for target in re.findall(r"\]\(([^)]+)\)", description) if not target.startswith("https://")] == []
    assert "<!--" not in description


def test_every_address_of_the_project_is_a_whole_one(metadata: Message) -> None:
    for each in metadata.get_all("Project-URL", []):
        assert re.fullmatch(r"[^,]+, https://\S+", each)


def test_the_terms_are_in_wheel_and_sdist(clone: Path, wheel: zipfile.ZipFile, sdist: tarfile.TarFile) -> None:
    for name in TERMS:
        text = (clone / name).read_bytes()
        (in_wheel,) = (each for each in wheel.namelist() if each.endswith(f".dist-info/licenses/{name}"))
        assert wheel.read(in_wheel) == text
        (in_sdist,) = (each for each in sdist.getnames() if re.fullmatch(rf"[^/]+/{name}", each))
        found = sdist.extractfile(in_sdist)
        assert found is not None
        assert found.read() == text


def test_the_wheel_has_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    assert "barnabas/py.typed" in wheel.namelist()
    assert {name.split("/")[0].split("-")[0] for name in wheel.namelist()} == {"barnabas"}


def test_kafka_is_named_where_its_definitions_are_used() -> None:
    notice = (Path(__file__).parents[2] / "NOTICE").read_text()
    assert "Apache Kafka" in notice
    assert "The Apache Software Foundation" in notice
    assert "schemas/messages" in notice


@pytest.fixture(scope="module")
def bill(wheel_path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(bill_of_materials([wheel_path]))
    return found


def of_scope(bill: dict[str, Any], scope: str) -> dict[str, str]:
    return {each["name"]: each["version"] for each in bill["components"] if each["scope"] == scope}


def test_the_bill_names_all_that_the_wheel_brings_with_its_version(bill: dict[str, Any], metadata: Message) -> None:
    required = of_scope(bill, "required")
    wanted = [Requirement(each) for each in metadata.get_all("Requires-Dist", [])]
    assert {each.name for each in wanted if "extra" not in str(each.marker)} <= required.keys()
    assert required.items() <= pins("broker").items()
    assert pins("broker").keys() - required.keys() == {"setuptools"}, "which builds it"
    assert of_scope(bill, "optional").keys() >= {"pyspark", "confluent-kafka", "psycopg-binary", "py4j"}
    assert not {"pytest", "ruff", "duckdb"} & {each["name"] for each in bill["components"]}
    assert of_scope(bill, "excluded").keys() >= {"setuptools", "mypy"}


def test_what_is_installed_wants_nothing_that_the_bill_lacks(bill: dict[str, Any]) -> None:
    listed = of_scope(bill, "required") | of_scope(bill, "optional")
    for name, version in listed.items():
        try:
            found = distribution(name)
        except PackageNotFoundError:
            # For another platform.
            continue
        assert found.version == version
        for each in map(Requirement, found.requires or ()):
            if each.marker is None or each.marker.evaluate({"extra": ""}):
                assert re.sub(r"[-_.]+", "-", each.name).lower() in listed, f"{name} wants {each}"


def test_the_bill_is_cyclonedx(bill: dict[str, Any]) -> None:
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    own = bill["metadata"]["component"]
    references = [own["bom-ref"], *(each["bom-ref"] for each in bill["components"])]
    assert len(set(references)) == len(references)
    depended = {name for each in bill["dependencies"] for name in each["dependsOn"]}
    assert depended | {each["ref"] for each in bill["dependencies"]} <= set(references)
    listed = {each["bom-ref"] for each in bill["components"] if each["scope"] != "excluded"}
    assert depended == listed, "each is there because something wants it"
    for each in bill["components"]:
        assert each["purl"] == f"pkg:pypi/{each['name']}@{each['version']}"
        (reference,) = each["externalReferences"]
        assert reference["hashes"]


def test_the_same_wheels_have_the_same_bill(clone: Path, wheel_path: Path) -> None:
    wheels = [wheel_path]
    assert write_bill(wheels, clone).read_bytes() == bill_of_materials(wheels)
    (own,) = json.loads(bill_of_materials(wheels))["metadata"]["component"]["properties"]
    assert own["value"] == hashlib.sha256(wheels[0].read_bytes()).hexdigest()


def test_how_to_report_is_said_where_people_look() -> None:
    text = (Path(__file__).parents[2] / "SECURITY.md").read_text()
    assert "private security advisory" in text
    assert "docs/security.md" in text
