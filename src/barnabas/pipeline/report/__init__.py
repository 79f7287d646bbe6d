"""The report: one self-contained HTML file with plots (`collect` the data from tables, then `render` it)."""

from barnabas.pipeline.report.collect import collect
from barnabas.pipeline.report.data import ReportData
from barnabas.pipeline.report.page import render

__all__ = ["ReportData", "collect", "render"]
