import os
import subprocess
import sys
from dataclasses import fields, replace
from datetime import date, datetime
from html.parser import HTMLParser

import pytest

from barnabas.charts import labels
from barnabas.pipeline.report import ReportData, render
from barnabas.pipeline.report.data import Alert, Counted, Day, Hour, Lag
from tests.pipeline import report_samples

VOID = {"meta", "link", "rect", "line", "circle", "polyline", "path"}


class Outline(HTMLParser):
    """The elements of a page, by their names; all that was opened was closed in order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.seen, self.headings = [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] == ["h2"]:
            self.headings.append(data)


def headings(data):
    return Outline(render(data)).headings


@pytest.mark.parametrize("data", [report_samples.FULL, report_samples.EMPTY, ReportData(), report_samples.long()])
def test_page_is_well_formed(data):
    assert "script" not in Outline(render(data)).seen


def test_hostile_text_adds_no_element():
    hostile, names = report_samples.hostile(), ("n",) * len(report_samples.HOSTILE_TEXT)
    page = render(hostile)
    page.encode("utf-8")
    seen = Outline(page).seen
    assert {"script", "img", "h3", "style"} & set(seen) == {"style"}
    assert (seen.count("h1"), seen.count("style")) == (1, 1)
    harmless = replace(hostile, pages=report_samples.ranking(*names))
    # What is empty is said to be so: an element as well, of another name.
    assert len(Outline(render(harmless)).seen) == len(seen)


def test_sections_are_there_for_what_was_asked_for_and_say_when_it_is_empty():
    assert headings(ReportData()) == []
    full = headings(report_samples.FULL)
    assert headings(report_samples.EMPTY) == full
    assert len(set(full)) == len(full) == 17
    assert headings(ReportData(alerts=())) == ["Alerts"]
    assert "No alerts." in render(ReportData(alerts=()))
    for field in fields(ReportData):
        if getattr(report_samples.EMPTY, field.name) in ((), report_samples.EMPTY.pages):
            page = render(ReportData(**{field.name: getattr(report_samples.EMPTY, field.name)}))
            assert 'class="none"' in page, field.name


def test_funnel_is_the_depth_of_sessions_where_only_views_are_known():
    depth = (Counted("1", 10), Counted("2", 4))
    steps = (Counted("page_view", 9), Counted("click", 0))
    assert headings(ReportData(funnel=steps, depth=depth)) == ["Depth"]
    assert headings(ReportData(funnel=(steps[0], Counted("click", 1)), depth=depth)) == ["Funnel"]
    assert "2 pages or more" in render(ReportData(depth=depth))


def test_days_and_hours_without_a_view_are_in_the_plot():
    days = tuple(Day(datetime(2015, 5, day).date(), 1, 1, 0, 1, 1, 0) for day in (3, 1))
    page = render(ReportData(days=days))
    assert "<tr><td>2 May 2015</td>" in page
    hours = (Hour(datetime(2015, 5, 1, 3), 10, 0, 1, 0), Hour(datetime(2015, 5, 1, 1), 10, 0, 0, 0))
    page = render(ReportData(hours=hours))
    assert '<tr><td>1 May 2015 02:00</td><td class="number">0</td>' in page
    assert '<tr><td>1 May 2015 02:00</td><td class="number">–</td>' in page


FIRST, SOME, LAST = datetime(1, 1, 1), datetime(2026, 11, 29, 7), datetime(9999, 12, 31, 23)


@pytest.mark.parametrize("moments", [(FIRST,), (LAST,), (SOME, LAST), (FIRST, SOME), (FIRST, LAST)])
def test_times_of_wrong_clocks_are_in_the_plots(moments):
    days = tuple(Day(moment.date(), 10, 1, 0, 2, 1, 60) for moment in moments)
    hours = tuple(Hour(moment, 10, 0, 1, 0) for moment in moments)
    page = render(ReportData(days=days, hours=hours))
    assert f"<tr><td>{labels.day(moments[-1])}</td>" in page


def test_no_session_in_the_days_that_are_shown_has_no_mean():
    session, vote = Day(date(2026, 11, 29), 10, 1, 0, 2, 1, 60), Day(date(2099, 1, 1), 0, 0, 0, 0, 0, 0)
    assert "30 s from first to last view on average" in render(ReportData(days=(session,)))
    page = render(ReportData(days=(session, vote)))
    assert "Sessions" in Outline(page).headings
    assert "on average" not in page


def test_alert_that_fires_ends_at_the_end_and_one_without_length_is_there():
    moment = datetime(2015, 5, 1)
    page = render(ReportData(alerts=(Alert("a", "b", moment, None, "c"), Alert("a", "b", moment, moment, "c"))))
    assert page.count("firing</span>") == 1
    assert page.count("1 firing, 1 resolved") == 1


def test_lags_are_those_with_most_records():
    page = render(ReportData(lags=tuple(Lag("job", "topic", n, n) for n in range(30))))
    assert "435 in 30 partitions; the 24 largest lags" in page
    assert "topic-29" in page
    assert "topic-5<" not in page


def test_a_report_is_written_as_utf_8_whatever_the_locale(tmp_path):
    code = "import pathlib, sys; from barnabas.pipeline.commands.report import write_report"
    code += r"; write_report(pathlib.Path(sys.argv[1]), {}, '', 'Z\xfcrich')"
    env = os.environ | {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "report.html")], env=env, check=True)
    assert "Zürich" in (tmp_path / "report.html").read_text(encoding="utf-8")
