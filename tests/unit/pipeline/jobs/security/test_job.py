"""The job's declaration, and that its page in the docs says the same."""

import subprocess
import sys
from pathlib import Path

from barnabas.pipeline.jobs.security import JOB
from barnabas.pipeline.jobs.security.crawlers import AGENT_SIGNS, VISITOR_SIGNS
from barnabas.pipeline.jobs.security.scoring import EVIDENCE

DOCS = (Path(__file__).parents[5] / "docs" / "pipeline" / "security.md").read_text()


def test_job_is_declared_without_spark():
    program = "import sys; from barnabas.pipeline.jobs.security import JOB; print(JOB.name, 'pyspark' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["security", "False"]


def test_docs_name_every_parameter_with_its_default():
    for parameter in JOB.parameters:
        default = parameter.default if parameter.default != "" else "none"
        assert f"| {parameter.name} | {default} | {parameter.meaning} |" in DOCS


def test_docs_name_every_sign_with_its_points():
    for sign in VISITOR_SIGNS:
        assert f"| {sign.name} | {sign.points} | " in DOCS
    assert {sign.name for sign in AGENT_SIGNS} <= {sign.name for sign in VISITOR_SIGNS}


def test_no_sign_alone_convicts_a_visitor():
    needed = JOB.defaults()["crawler_points"]
    assert max(sign.points for sign in VISITOR_SIGNS) < float(needed)


def test_evidence_of_a_verdict_has_one_type_for_each_figure():
    assert {"points", "signs", "requests", "distinct_pages", "names_tried", "robots_txt_requests"} <= EVIDENCE.keys()
