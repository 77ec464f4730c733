"""The page that judges proofs in a browser says what `verify` prints, and nothing else; what comes
to no end, or is not there, is never accepted.
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
from support.browser import Browser, no_chromium
from support.messages import approved
from support.proved import bundled_document, proved

from cotenant.instances.problem import PROBLEM_NAMES

pytest.importorskip("selenium", reason="selenium is not installed (it is in the extra 'test')")
pytestmark = no_chromium

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
def test_browser_verifier_prints_sentence_of_command_line(
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
