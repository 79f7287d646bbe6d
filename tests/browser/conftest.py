"""One staged broker, one page of it and one browser for all tests here."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.staged import staged_broker
from tests.chromium import reader, running_chromium
from tests.integration.page_process import running_page


class Staged(NamedTuple):
    """What runs. `page` is the address of the cluster's overview, without the last slash."""

    servers: str
    page: str
    browser: Browser


# Not to the end of all: as long as the browser runs the thread has an event loop, and the tests after it want theirs.
@pytest.fixture(scope="package")
def staged() -> Iterator[Staged]:
    with ExitStack() as stack:
        servers = stack.enter_context(staged_broker())
        port = stack.enter_context(running_page("--bootstrap-server", servers, "--allow-changes"))
        browser = stack.enter_context(running_chromium())
        yield Staged(servers, f"http://127.0.0.1:{port}/c/cluster", browser)


@pytest.fixture
def window(staged: Staged) -> Iterator[Page]:
    """A reader's window, at nothing yet."""
    context = reader(staged.browser)
    yield context.new_page()
    context.close()
