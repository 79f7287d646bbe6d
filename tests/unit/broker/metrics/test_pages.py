"""The table of what is served by HTTP."""

import json

from barnabas.broker.metrics.pages import Page, Pages, json_answer, refusal


def test_the_first_page_lists_all_pages():
    pages = Pages([Page("/one", "the first", lambda: 1, json_answer)])
    page = pages.find("/")
    answer = page.write(page.ask())
    assert (answer.status, json.loads(answer.body)) == (200, {"/": "this list", "/one": "the first"})
    assert pages.find("/two") is None


def test_what_is_refused_says_why():
    answer = refusal(503, "the loop stands still")
    assert (answer.status, json.loads(answer.body)) == (503, {"status": "down", "reasons": ["the loop stands still"]})
