"""The report for people: one HTML file with plots, that needs nothing else (`collect` from tables, then `render`)."""

from barnabas.pipeline.report.collect import collect
from barnabas.pipeline.report.data import ReportData
from barnabas.pipeline.report.page import render

__all__ = ["ReportData", "collect", "render"]
