"""The page in a real browser: no error, tables that sort, two color schemes, narrow screens, and no
need of scripts.
"""

from __future__ import annotations

import pytest
from support.browser import Browser, no_chromium, shape
from support.report_rows import failed, frontier, row, two_instances

from cotenant.instances.problem import PROBLEM_NAMES

pytest.importorskip("matplotlib", reason="the page needs matplotlib")
pytest.importorskip("jinja2", reason="the page needs jinja2")
pytest.importorskip("selenium", reason="selenium is not installed (it is in the extra 'test')")

pytestmark = no_chromium

EVERY = (
    "stable", "GR", "ES", "PF", "FFD", "best-fit", "DRF", "SM", "DA1", "REF", "FIFO", "IB", "fluid",
    "strict",
)  # fmt: skip
"""Methods that take no time on small instances, some of each problem."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a page with tables, profiles, a map and failures."""
    from cotenant.analysis.report.comparison_page import write_report

    rows = [
        *two_instances(),
        frontier(),
        failed("CO", error="no bandwidth"),
        row("SMP", metrics={"penalty": 0.005}),
    ]
    rows.append(
        row("a policy of a very long name that nobody would ever give", metrics={"penalty": 0.5})
    )
    rows.append(row("SR", metrics={"penalty": 0.2}))
    pairs = [["web", "db"], ["batch", "cache"]]
    rows[0] |= {
        "answer": "put web beside db",
        "answer_table": {"columns": ["job", "beside"], "rows": pairs, "total": 2},
    }
    return write_report(
        rows, tmp_path_factory.mktemp("page") / "page.html", command="cotenant report x"
    )[0].as_uri()


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a page with pictures of every problem."""
    import cotenant
    from cotenant.analysis.report.comparison_page import write_report

    small = [cotenant.read(f"{problem}/tiny") for problem in PROBLEM_NAMES]
    small.append(cotenant.read("packing/paper-example"))
    found = cotenant.compare(small, EVERY, progress=False)
    assert {row["problem"] for row in found.rows if row["metrics"]} == set(PROBLEM_NAMES)
    return write_report(found.rows, tmp_path_factory.mktemp("every") / "page.html")[0].as_uri()


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the page of a plan for a cluster, with warnings."""
    from dataclasses import replace

    from cotenant.analysis.report.page import write_page
    from cotenant.cluster.plan.nodes import advise
    from cotenant.cluster.report.answers import shown as words_of
    from cotenant.cluster.report.page import answer_page
    from cotenant.cluster.state.reading import read_state

    advice = advise(read_state(["state/shop"]), time_limit=20)
    page = answer_page(words_of(advice), ["cotenant", "advise", "nodes", "x"])
    page = replace(page, warnings=(("One namespace only.", "Add -A."),))
    path = tmp_path_factory.mktemp("plan") / "page.html"
    return write_page(page, path).as_uri()


@pytest.fixture
def browser(shared_browser: Browser, page: str) -> Browser:
    """The page, freshly opened on a wide light screen."""
    shape(shared_browser, 1280, "light")
    shared_browser.get(page)
    shared_browser.execute_script("localStorage.clear()")
    shared_browser.get(page)
    return shared_browser


def colors(browser: Browser) -> list[str]:
    found: list[str] = browser.execute_script(
        "const style = getComputedStyle(document.body); return [style.backgroundColor, style.color]"
    )
    return found


def clipped(browser: Browser) -> list[str]:
    """What stands outside of the screen once all is unfolded, and does not scroll by itself."""
    found: list[str] = browser.execute_script("""
        document.querySelectorAll('details').forEach(each => { each.open = true });
        dispatchEvent(new Event('resize'));
        const inside = (each) => each.closest('.scroll, .unseen, .skip');
        return [...document.querySelectorAll('main *')].filter((each) => {
            const box = each.getBoundingClientRect();
            return box.width > 0 && !inside(each) && (box.right > innerWidth + 1 || box.left < -1);
        }).map((each) => each.outerHTML.slice(0, 80));
    """)
    page = browser.find_element("tag name", "html")
    wider = int(page.get_property("scrollWidth")) > int(page.get_property("clientWidth"))
    return found + ["the page itself"] * wider


def column(browser: Browser, place: int) -> list[str]:
    """The texts of a column of the first table that sorts by several numbers: mean gaps."""
    script = (
        "const table = [...document.querySelectorAll('table')].find(t => "
        "t.caption.textContent.includes('mean gaps'));"
        "return [...table.tBodies[0].rows].map(r => r.cells[arguments[0]].textContent)"
    )
    found: list[str] = browser.execute_script(script, place)
    return found


def test_report_loads_without_errors_or_requests(browser: Browser) -> None:
    assert browser.get_log("browser") == []
    asked = browser.execute_script(
        "return performance.getEntriesByType('resource').map(e => e.name)"
    )
    assert [name for name in asked if not name.startswith("data:")] == []
    assert browser.title == "2 instances: colocation"


@pytest.mark.slow
def test_report_table_sorts_by_number_from_keyboard(browser: Browser) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    before = column(browser, 4)
    assert before == ["0 %", "6.14 %", "50.24 %", "-", "0 %*", "24 times", "900 %"]
    heading = next(
        each for each in browser.find_elements(By.CSS_SELECTOR,
        "th") if each.text.startswith("mean penalty: gap")
    )  # fmt: skip
    button = heading.find_element(By.TAG_NAME, "button")
    button.send_keys(Keys.ENTER)
    up = column(browser, 4)
    assert heading.get_attribute("aria-sort") == "ascending"
    assert (
        browser.find_element(By.ID, "said")
        .get_attribute("textContent")
        .startswith("Sorted by mean penalty: gap, ascending")
    )
    button.send_keys(Keys.SPACE)
    down = column(browser, 4)
    assert heading.get_attribute("aria-sort") == "descending"
    assert up != before
    assert sorted(up) == sorted(down) == sorted(before)
    assert up[-1] == down[-1] == "-", "what has no value stays last"
    values = [percentage(text) for text in up[:-1]]
    assert values == sorted(values)
    assert values == [0, 0, 6.14, 50.24, 900, 2400], "by value: as text 24 comes before 9"
    assert [percentage(text) for text in down[:-1]] == values[::-1]


def percentage(text: str) -> float:
    number = float(text.split()[0])
    return 100 * number if "times" in text else number


@pytest.mark.slow
def test_report_color_scheme_follows_system_until_button_is_clicked(
    browser: Browser, page: str
) -> None:
    from selenium.webdriver.common.by import By

    light = colors(browser)
    shape(browser, 1280, "dark")
    dark = colors(browser)
    assert light[0] == "rgb(255, 255, 255)"
    assert all(one != other for one, other in zip(light, dark, strict=True))
    ink = "return getComputedStyle(document.querySelector('figure svg text')).fill"
    assert browser.execute_script(ink) == dark[1]
    browser.find_element(By.CSS_SELECTOR, "button.theme").click()
    assert colors(browser) == light
    assert browser.execute_script(ink) == light[1]
    browser.get(page)
    assert colors(browser) == light


@pytest.mark.parametrize("which", ["page", pytest.param("every", marks=pytest.mark.slow)])
def test_report_on_phone_clips_nothing(
    browser: Browser, which: str, request: pytest.FixtureRequest
) -> None:
    shape(browser, 390, "light")
    browser.get(request.getfixturevalue(which))
    assert clipped(browser) == []
    cut = browser.execute_script("""
        return [...document.querySelectorAll('figure svg text')].filter((each) => {
            const box = each.getBoundingClientRect();
            const whole = each.ownerSVGElement.getBoundingClientRect();
            return box.left < whole.left - 1 || box.right > whole.right + 1
                || box.top < whole.top - 1 || box.bottom > whole.bottom + 1;
        }).map((each) => each.textContent);
    """)
    assert cut == []
    silent = browser.execute_script("""
        return [...document.querySelectorAll('.scroll')].filter((each) =>
            (each.scrollWidth > each.clientWidth + 1) !== each.parentElement.hasAttribute('data-wider')
        ).map((each) => each.getAttribute('aria-label'));
    """)
    assert silent == []
    charts = browser.execute_script("""
        return [...document.querySelectorAll('figure:not(.wide) > .scroll > svg')].filter(
            (each) => parseFloat(getComputedStyle(each).getPropertyValue('--wide')) < 310
        ).map((each) => {
            const box = each.getBoundingClientRect();
            return [box.width <= each.parentElement.clientWidth + 1, box.height > 100];
        });
    """)
    assert len(charts) >= 4
    assert all(map(all, charts)), (
        "a chart is as wide as the screen: none of its bars is out of sight"
    )
    letters = browser.execute_script("""
        return [...document.querySelectorAll('figure svg text')].map((each) => {
            const whole = each.ownerSVGElement;
            const size = whole.getBoundingClientRect().width / whole.viewBox.baseVal.width;
            return size * parseFloat(getComputedStyle(each).fontSize);
        });
    """)
    assert min(letters) >= 8.5, "pixels, which can be read"
    lines = browser.execute_script("""
        return [...document.querySelectorAll('figcaption .note')].map((each) =>
            Math.round(each.getBoundingClientRect().height
                / parseFloat(getComputedStyle(each).lineHeight)));
    """)
    assert max(lines) <= 5, "two lines of a page are at most five of a phone"


@pytest.mark.slow
def test_report_link_opens_answer_table(browser: Browser) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    answer = browser.find_element(By.CSS_SELECTOR, "details.answer")
    assert answer.get_attribute("open") is None
    browser.find_element(By.CSS_SELECTOR, ".decision a").click()
    assert answer.get_attribute("open") is not None
    copy, save = answer.find_elements(By.CSS_SELECTOR, ".filter button")
    assert save.text == "Save as CSV"
    copy.click()
    said = browser.find_element(By.ID, "said")
    WebDriverWait(browser, 10).until(lambda _: "answer" in said.get_attribute("textContent"))
    rows = answer.get_attribute("data-copy").splitlines()
    assert len(rows) == 1 + len(answer.find_elements(By.CSS_SELECTOR, "tbody tr"))


@pytest.mark.slow
def test_report_without_scripts_is_complete(without_scripts: Browser, page: str) -> None:
    from selenium.webdriver.common.by import By

    browser = without_scripts
    browser.get(page)
    assert browser.find_elements(By.TAG_NAME, "button") == []
    tables = browser.find_elements(By.CSS_SELECTOR, "main table")
    assert sum(table.is_displayed() for table in tables) >= 4
    assert "50.24 %" in browser.find_element(By.TAG_NAME, "main").text
    pictures = browser.find_elements(By.CSS_SELECTOR, "figure svg")
    assert len(pictures) >= 4
    assert all(picture.size["height"] > 100 for picture in pictures)


# The page of a plan for a cluster


@pytest.fixture
def planned(browser: Browser, plan: str) -> Browser:
    """The page of a plan on a wide light screen."""
    browser.get(plan)
    return browser


def test_plan_page_opens_with_warnings_before_decision(planned: Browser) -> None:
    assert planned.get_log("browser") == []
    asked = "return performance.getEntriesByType('resource').map(e => e.name)"
    assert [name for name in planned.execute_script(asked) if not name.startswith("data:")] == []
    tops = [
        planned.execute_script("return document.querySelector(arguments[0]).offsetTop", each)
        for each in (".warnings", ".numbers", "#nodes-before-and-after", "#moves-in-waves")
    ]
    assert tops == sorted(tops)
    assert tops[1] < 600, "the decision is on the first screen"


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_plan_page_clips_nothing(planned: Browser, width: int, scheme: str) -> None:
    shape(planned, width, scheme)
    assert clipped(planned) == []


def test_plan_page_without_scripts_is_complete(without_scripts: Browser, plan: str) -> None:
    from selenium.webdriver.common.by import By

    browser = without_scripts
    browser.get(plan)
    text = browser.find_element(By.TAG_NAME, "main").text
    for words in ("are enough", "n-2", "after wave 3", "69 %", "One namespace only."):
        assert words in text
    assert browser.find_elements(By.CSS_SELECTOR, "main button, main input[type=search]") == []
