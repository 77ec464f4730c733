"""Reports and the verifier's page in a real browser: no error, tables that sort, two color schemes,
narrow screens, no need of scripts, proofs that are judged.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from support.browser import Browser, no_chromium, shape
from support.messages import approved
from support.proved import bundled_document, proved
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


pytest.importorskip("selenium", reason="selenium is not installed (it is in the extra 'test')")

ROOT = Path(__file__).resolve().parents[1]
TINY = ROOT / "instances" / "data" / "colocation" / "tiny.json"
PROOF = proved(bundled_document("colocation/tiny"), "optimal").proof.document(
    "tiny", sha256(TINY.read_bytes()).hexdigest()
)
"""Of a mean penalty of 0.0425 of four agents."""


class Quiet(SimpleHTTPRequestHandler):
    """A server that prints nothing."""

    def log_message(self, *arguments: object) -> None:
        """Print no line for a request."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A folder with the page, with Pyodide where it can be had, and the address it is served at."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, ROOT / ".ci" / "bundle-verifier", folder / "verify"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def judging(site: tuple[Path, str], shared_browser: Browser) -> Iterator[Callable[..., list[str]]]:
    """From two files, written to the server, to what the page says and the exit code it names."""
    folder, address = site
    if not (folder / "verify" / "pyodide").exists():
        pytest.skip("Pyodide cannot be fetched (npm)")

    def judge(instance: object, proof: object, suffix: str = ".json") -> list[str]:
        for name, content in (("instance", instance), ("proof", proof)):
            if not isinstance(content, bytes):
                content = json.dumps(content).encode()
            (folder / f"{name}{suffix}").write_bytes(content)
        query = f"?instance=../instance{suffix}&proof=../proof{suffix}"
        shared_browser.get(f"{address}/verify/index.html{query}")
        return verdict(shared_browser)

    yield judge
    shared_browser.get("about:blank")


def verdict(browser: Browser) -> list[str]:
    """What the page says in the end, and its exit code."""
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 300).until(lambda _: text(browser, "words"))
    shown = browser.execute_script("return document.getElementById('verdict').dataset.code")
    return [text(browser, "words"), shown]


def text(browser: Browser, name: str) -> str:
    """The text of an element."""
    found: str = browser.execute_script(
        "return document.getElementById(arguments[0]).textContent", name
    )
    return found


def state(browser: Browser, begin: str) -> str:
    """The line on what the page does, once it begins so."""
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 100).until(lambda _: text(browser, "state").startswith(begin))
    return text(browser, "state")


def printed(site: tuple[Path, str], suffix: str = ".json") -> list[str]:
    """The same of the command line, for the two files last written."""
    files = [f"instance{suffix}", f"proof{suffix}"]
    command = [sys.executable, "-I", "verify/verify.pyz", *files]
    done = subprocess.run(command, cwd=site[0], capture_output=True, text=True, check=False)
    return [done.stdout.rstrip("\n"), str(done.returncode)]


def forged() -> dict[str, Any]:
    """The proof with a better bound than it proves."""
    return {**PROOF, "claim": {**PROOF["claim"], "bound": "18/400", "value": "18/400"}}


@pytest.mark.slow
def test_browser_verifier_without_pyodide_names_command(
    site: tuple[Path, str], shared_browser: Browser
) -> None:
    folder, address = site
    shutil.copytree(folder / "verify", folder / "bare", ignore=lambda *_: ["pyodide"])
    shared_browser.get(f"{address}/bare/index.html?instance=page.css&proof=page.js")
    approved(state(shared_browser, "The verifier").partition(" (")[0])
    shared_browser.get((folder / "bare" / "index.html").as_uri())
    approved(" ".join(text(shared_browser, "state").split()))
    assert text(shared_browser, "command").split()[-2:] == ["INSTANCE", "PROOF"]


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEM_NAMES)
def test_browser_verifier_prints_same_sentence_as_command_line_verifier(
    judging: Callable[..., list[str]], site: tuple[Path, str], problem: str, tmp_path: Path
) -> None:
    import cotenant

    proving = [entry.name for entry in cotenant.methods(problem) if entry.proof_producer]
    if not proving:
        pytest.skip(f"no method of {problem} writes proofs")
    instance = cotenant.read(f"{problem}/tiny")
    result = cotenant.solve(instance, proving[0], time_limit=60)
    cotenant.prove(instance, result, tmp_path)
    document = json.loads(gzip.decompress(next(tmp_path.glob("*.proof.json.gz")).read_bytes()))
    (path,) = (path for path in tmp_path.iterdir() if ".proof." not in path.name)
    content = path.read_bytes()
    assert judging(content, document) == printed(site)
    assert printed(site)[1] == "0"
    claim = document["claim"]
    (key,) = [name for name in ("bound", "value") if claim[name] is not None][:1]
    document["claim"] = {**claim, key: "1234567/89"}
    assert judging(content, document) == printed(site)
    assert printed(site)[1] == "1"
    document["claim"] = claim
    other = "market" if problem != "market" else "packing"
    content = (ROOT / "instances" / "data" / other / "tiny.json").read_bytes()
    assert judging(content, document) == printed(site)
    assert "another instance" in printed(site)[0]


@pytest.mark.slow
def test_browser_verifier_explains_file_that_is_no_proof(
    judging: Callable[..., list[str]], site: tuple[Path, str], shared_browser: Browser
) -> None:
    for broken in (b"{", b"\xff\xfe", b"{}"):
        assert judging(TINY.read_bytes(), broken) == printed(site)
    packed = gzip.compress(json.dumps(PROOF).encode())
    assert judging(gzip.compress(TINY.read_bytes()), packed, ".json.gz") == printed(
        site, ".json.gz"
    )
    assert printed(site, ".json.gz")[1] == "0"
    words, code = judging(TINY.read_bytes(), packed[:-20], ".json.gz")
    assert words.partition(": ")[0] == "unreadable"
    assert code == "2"
    deep = b'{"cotenant_proof": ' + b"[" * 10**6 + b"]" * 10**6 + b"}"
    words, code = judging(TINY.read_bytes(), deep)
    assert words.startswith("not judged: ")
    assert code == ""
    assert judging(TINY.read_bytes(), PROOF)[1] == "0", "the next one has a Python of its own"


DROP = """
const [place, ...files] = arguments;
document.getElementById('words').textContent = '';
const dataTransfer = new DataTransfer();
for (const [name, content] of files) dataTransfer.items.add(new File([content], name));
const target = document.querySelector(place);
target.dispatchEvent(new DragEvent('drop', {dataTransfer, bubbles: true, cancelable: true}));
"""
"""Drops files of these names and contents on an element."""

INSTANCE_FILE = ["tiny.json", TINY.read_text()]
PROOF_FILE = ["an 'odd' name.json", json.dumps(PROOF)]


@pytest.mark.slow
def test_browser_verifier_accepts_dropped_and_chosen_files(
    judging: Callable[..., list[str]], site: tuple[Path, str], shared_browser: Browser
) -> None:
    from selenium.webdriver.common.by import By

    folder, address = site
    forgery = ["forged.json", json.dumps(forged())]
    shared_browser.get(f"{address}/verify/")
    state(shared_browser, "Choose the instance and the proof.")
    shared_browser.get_log("browser")  # of other tests
    for place, files, code in (
        ("body", [PROOF_FILE, INSTANCE_FILE], "0"),
        ("body", [forgery], "1"),
        ("body", [INSTANCE_FILE, PROOF_FILE], "0"),
        ("#instance", [PROOF_FILE], "1"),  # where a file is dropped is what it is taken for
        ("body", [INSTANCE_FILE], "0"),
    ):
        shared_browser.execute_script(DROP, place, *files)
        assert verdict(shared_browser)[1] == code
    command = "python -I verify.pyz tiny.json 'an '\\''odd'\\'' name.json'"
    assert text(shared_browser, "command") == command
    shared_browser.execute_script(DROP, "body", INSTANCE_FILE, INSTANCE_FILE)
    approved(state(shared_browser, "Two"))
    for part, (_, content) in (("instance", INSTANCE_FILE), ("proof", PROOF_FILE)):
        (folder / f"chosen-{part}.json").write_text(content)
        shared_browser.find_element(By.ID, part).send_keys(str(folder / f"chosen-{part}.json"))
    assert verdict(shared_browser)[1] == "0"
    assert shared_browser.get_log("browser") == []
    (folder / "chosen-proof.json").write_text("another")
    shared_browser.execute_script(DROP, "#instance", INSTANCE_FILE)
    approved(verdict(shared_browser))


@pytest.mark.slow
def test_browser_verifier_survives_canceled_verification(
    judging: Callable[..., list[str]], site: tuple[Path, str], shared_browser: Browser
) -> None:
    from selenium.webdriver.common.by import By

    shared_browser.get(f"{site[1]}/verify/")
    long = ["long.json", '{"cotenant_proof": [' + "1," * 4_000_000 + "1]}"]
    shared_browser.execute_script(DROP, "#instance", INSTANCE_FILE)
    shared_browser.execute_script(DROP, "#proof", long)
    state(shared_browser, "Judging")
    shared_browser.find_element(By.ID, "cancel").click()
    approved(text(shared_browser, "state"))
    assert text(shared_browser, "words") == ""
    shared_browser.execute_script(DROP, "#proof", PROOF_FILE)
    assert verdict(shared_browser)[1] == "0"


@pytest.mark.slow
def test_browser_verifier_loads_only_files_of_same_host(
    judging: Callable[..., list[str]], site: tuple[Path, str], shared_browser: Browser
) -> None:
    page = f"{site[1]}/verify/index.html"
    for query in ("instance=https://example.org/tiny.json", "instance=//example.org/tiny.json",
                  "proof=data:application/json,1", "proof=nowhere.json"):  # fmt: skip
        shared_browser.get(f"{page}?{query}")
        approved(state(shared_browser, "Nothing"))
    judging(TINY.read_bytes(), PROOF)
    asked = shared_browser.execute_script(
        "return performance.getEntriesByType('resource').map(e => e.name)"
    )
    assert all(name.startswith(site[1]) for name in asked)
