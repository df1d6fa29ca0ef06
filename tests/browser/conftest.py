from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser.chromium import browser as started
from tests.browser.chromium import find_program
from tests.missing import skip_or_fail


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser; without one the test is skipped, or fails where everything must run."""
    if not find_program():
        skip_or_fail("there is no browser: apt-get install chromium")
    with started() as found:
        yield found
