"""The interactive page of `/docs` shows the OpenAPI document."""

from __future__ import annotations

from schemas.endpoints import ENDPOINTS
from tests.browser.visit import Visit


def test_the_page_shows_every_operation_with_its_answer(visit: Visit) -> None:
    page = visit.page
    page.goto(f"{visit.site.base}/docs")
    page.wait_for_selector(".opblock")
    assert page.locator(".opblock").count() == len(ENDPOINTS)
    page.locator(".opblock-summary", has_text="/v1/me").first.click()
    page.wait_for_selector(".responses-table .model-example")
    assert "dialect" not in page.locator("body").inner_text(), "the library reads the document as it is"
