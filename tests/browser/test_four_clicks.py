"""Somebody new to the page finds the cause of each staged fault: by links alone, four at the most from the overview."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Staged

_FAULTS = {
    "a reader waits for a transaction": (("Groups", "audit"), "transactional id settlement has a transaction open"),
    "a client is held": (("Clients", "importer"), "importer of ANONYMOUS was held"),
    "a client is refused": (("Access",), "DENY WRITE TOPIC payroll"),
    "a group rebalanced": (("Groups", "reports"), "no heartbeat of reporter-2"),
    "a segment stays": (("Topics", "clicks"), "its newest record's timestamp lies in the future"),
}


@pytest.mark.parametrize("fault", _FAULTS)
def test_the_cause_is_four_clicks_away(staged: Staged, window: Page, fault: str) -> None:
    links, cause = _FAULTS[fault]
    assert len(links) <= 4
    window.goto(f"{staged.page}/")
    for each in links:
        window.get_by_role("link", name=each, exact=True).first.click()
        expect(window.get_by_role("heading", level=1)).to_contain_text(each, ignore_case=True)
    expect(window.locator("#view")).to_contain_text(cause)


def test_what_is_found_leads_to_what_it_is_about(staged: Staged, window: Page) -> None:
    window.goto(f"{staged.page}/")
    window.get_by_role("link", name="Look at group audit").first.click()
    expect(window.get_by_role("heading", level=1)).to_contain_text("audit")
