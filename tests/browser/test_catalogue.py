"""The explorer's catalogue: search, sort, bounds and checks."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.visit import Visit, issued
from tests.support.contract_app import FULL, HIDDEN


def test_the_catalogue_lists_what_the_key_may_read_and_searches_it(visit: Visit) -> None:
    page = visit.open("/")
    listed = page.locator("tr[data-alpha]")
    expected = [row["alpha_id"] for row in visit.site.send("alphas")["data"]]
    assert [row.get_attribute("data-alpha") for row in listed.all()] == expected
    page.get_by_label("Search").fill("hidden")
    expect(listed).to_have_count(1)
    assert page.url.endswith("#/?q=hidden")
    page.get_by_label("Search").fill("no such alpha")
    expect(page.locator("#results")).to_contain_text("No alpha matches")


def test_the_catalogue_is_sorted_and_bounded_by_figures(visit: Visit) -> None:
    page = visit.open("/")
    page.locator("[data-sort=icir]").click()
    visit.settle()
    assert "sort=-icir" in page.url
    rows = visit.site.send("screen?fields=icir&sort=-icir")["data"]
    listed = page.locator("tr[data-alpha]")
    assert [row.get_attribute("data-alpha") for row in listed.all()] == [row["alpha_id"] for row in rows]
    values = [cell.get_attribute("data-value") for cell in page.locator("td[data-figure=icir]").all()]
    assert [None if value is None else float(value) for value in values] == [
        row["figures"]["icir"] for row in rows
    ]
    stated = [row["alpha_id"] for row in rows if row["figures_checked"].get("icir") == "stated"]
    marked = page.locator("tr[data-alpha]", has=page.locator("td[data-figure=icir] small.standing"))
    assert [row.get_attribute("data-alpha") for row in marked.all()] == stated != []
    withheld = next(row for row in rows if row["figures"]["icir"] is None)
    cell = page.locator(f"tr[data-alpha={withheld['alpha_id']}] td[data-figure=icir]")
    cell.locator("summary").click()
    expect(cell).to_contain_text(withheld["withheld"]["icir"])
    page.locator(".bounds > summary").click()
    page.get_by_label("Least ICIR").fill("-1000")
    supported = [row for row in rows if row["figures_checked"].get("icir") not in {None, "stated"}]
    expect(listed).to_have_count(len(supported))
    assert "min_icir=-1000" in page.url


def test_a_key_that_may_not_read_figures_has_a_list_without_them(visit: Visit) -> None:
    key = issued(visit.site.root, endpoints="meta.me,catalog.alphas.list,catalog.alphas.get")
    page = visit.open("/", key)
    assert page.locator("tr[data-alpha]").count() == len(visit.site.send("alphas", key)["data"])
    assert page.locator("[data-sort=icir]").count() == 0
    expect(page.locator("main")).to_contain_text("performance.metrics")


def test_alphas_selected_in_the_catalogue_are_compared(visit: Visit) -> None:
    page = visit.open("/")
    for alpha in (FULL, HIDDEN):
        page.locator(f"tr[data-alpha={alpha}] input").check()
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector("#curves canvas")
    assert page.url.endswith(f"#/compare?alphas={FULL},{HIDDEN}")
    visit.settle()


def test_an_empty_catalogue_says_that_no_alpha_is_published(visit: Visit) -> None:
    nobody = {"data": [], "pagination": {"offset": 0, "total": 0}, "meta": {}}
    visit.page.route("**/v1/screen?*", lambda route: route.fulfill(json=nobody))
    page = visit.begin("/")
    expect(page.locator("#results")).to_contain_text("nothing is published yet")


def test_a_catalogue_row_shows_the_checks(visit: Visit) -> None:
    page = visit.open("/")
    for row in visit.site.send("screen?fields=ic")["data"]:
        cell = page.locator(f"tr[data-alpha={row['alpha_id']}] td.checked")
        checked = row["checked"]
        if checked is None:
            expect(cell).to_have_text("\N{EN DASH}")
        else:
            assert int(cell.get_attribute("data-notices") or -1) == checked["notices"]
            sealed = sum(checked[name] for name in ("reproduced", "stated", "contradicted"))
            expect(cell).to_contain_text(
                f"{checked['reproduced']} of {sealed}" if sealed else "no figure sealed"
            )


def test_the_number_of_discoveries_matches_the_api(visit: Visit) -> None:
    data = visit.site.send("luck")["data"]
    (counts,) = [row for row in data["discoveries"] if row["level"] == 0.05]
    page = visit.open("/")
    expect(page.locator("#catalogue-luck")).to_contain_text(
        f"{counts['benjamini_hochberg']} of {data['tested']} alphas (Benjamini-Hochberg)"
    )
