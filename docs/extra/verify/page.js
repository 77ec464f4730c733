// The page that judges proofs: which files, a worker for each judgement, and the verdict in words.
"use strict";
const MEANING = {
  0: "Accepted (exit code 0): this is proved.",
  1: "Refused (exit code 1): nothing is proved. This is the first reason.",
  2: "Unreadable (exit code 2): nothing is proved.",
};
const NO_END = "Not judged in this browser: nothing is proved. It can be run as below.";
const PARTS = ["instance", "proof"];
const HEAD = 65536; // bytes in which a proof says that it is one
const files = {};
let run = null; // the worker, whether its Python is ready, when it began to judge; null: none works
let clock = 0;
const element = (id) => document.getElementById(id);

function show(text, working = false) {
  if (!run) return; // why, is shown
  element("state").textContent = text;
  element("bar").hidden = element("cancel").hidden = !working;
}

function showVerdict(words, code) {
  element("verdict").hidden = words === "";
  element("verdict").dataset.code = code;
  element("words").textContent = words;
  element("meaning").textContent = MEANING[code] || NO_END;
}

function showWhatIsMissing() {
  const missing = PARTS.filter((part) => !files[part]);
  show(missing.length ? `Choose the ${missing.join(" and the ")}.` : "");
}

function stop() {
  clearInterval(clock);
  run.worker.onmessage = run.worker.onerror = null; // a late verdict would be on other files
  run.worker.terminate();
}

// Each judgement has a worker, and a Python, of its own; the first loads before it is needed.
function renew() {
  if (run) stop();
  run = { worker: new Worker("worker.js", { type: "module" }), ready: false, begun: 0 };
  run.worker.onmessage = ({ data }) => receive(data);
  run.worker.onerror = (event) => receive({ failed: event.message || "the worker ended" });
}

function receive({ ready, missing, failed, words, code }) {
  if (ready) {
    run.ready = true;
    element("judge").textContent =
      ` (sha256 ${ready.sha256}; here on Python ${ready.python} of Pyodide ${ready.pyodide})`;
    if (run.begun) run.begun = performance.now();
  } else if (missing) {
    stop();
    show(`The verifier is not part of this copy of the page (${missing}). Run it as below.`);
    run = null;
  } else {
    const seconds = ((performance.now() - run.begun) / 1000).toFixed(1);
    stop();
    show(`Judged in ${seconds} s: ${PARTS.map((part) => files[part].name).join(" and ")}.`);
    if (failed) showVerdict(`not judged: ${failed}`, "");
    else showVerdict(words, code);
  }
}

function judge() {
  if (!run) return;
  showVerdict("", "");
  if (run.begun) renew();
  run.begun = performance.now();
  run.worker.postMessage(files);
  const tick = () => {
    const seconds = Math.floor((performance.now() - run.begun) / 1000);
    show(run.ready ? `Judging: ${seconds} s` : "Loading Python ...", true);
  };
  clock = setInterval(tick, 200);
  tick();
}

function quoted(name) {
  return /^[\w.,+@%-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}

function take(chosen) {
  Object.assign(files, chosen);
  for (const [part, file] of Object.entries(chosen))
    element(`${part}-name`).textContent = `${file.name}, ${file.size.toLocaleString("en")} bytes`;
  const names = PARTS.map((part) => (files[part] ? quoted(files[part].name) : part.toUpperCase()));
  element("command").textContent = `python -I verify.pyz ${names.join(" ")}`;
  if (PARTS.every((part) => files[part])) judge();
  else showWhatIsMissing();
}

async function isProof(file) {
  let text = "";
  try {
    const magic = new Uint8Array(await file.slice(0, 2).arrayBuffer());
    const packed = magic[0] === 0x1f && magic[1] === 0x8b;
    const bytes = packed ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
    const reader = bytes.pipeThrough(new TextDecoderStream()).getReader();
    for (let next = await reader.read(); !next.done && text.length < HEAD; next = await reader.read())
      text += next.value;
    reader.cancel().catch(() => {});
  } catch {
    return /proof/i.test(file.name); // no text: the verifier says what is wrong with it
  }
  return text.slice(0, HEAD).includes('"cotenant_proof"');
}

async function drop(event) {
  event.preventDefault();
  document.body.classList.remove("over");
  const dropped = [...event.dataTransfer.files];
  const label = event.target.closest("label");
  const chosen = {};
  if (label && dropped.length === 1) chosen[label.dataset.part] = dropped[0];
  else for (const file of dropped) chosen[(await isProof(file)) ? "proof" : "instance"] = file;
  if (dropped.length === 2 && Object.keys(chosen).length < 2)
    show(`Two files, but ${chosen.proof ? "both are" : "none is"} a proof.`);
  else if (dropped.length) take(chosen);
}

// ?instance=FILE&proof=FILE: files of this host, named relative to this page.
async function fetched(part, name) {
  const address = new URL(name, location.href);
  if (address.origin !== location.origin) throw new Error(`${name} is on another host`);
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${name} cannot be loaded (${answer.status})`);
  const last = decodeURIComponent(address.pathname).split("/").pop();
  return [part, new File([await answer.blob()], last || part)];
}

async function begin() {
  if (location.protocol === "file:") return; // no browser starts workers from there: the page says so
  renew();
  showWhatIsMissing();
  for (const part of PARTS)
    element(part).onchange = ({ target }) => target.files.length && take({ [part]: target.files[0] });
  element("cancel").onclick = () => {
    stop();
    show("Canceled: nothing was judged.");
  };
  document.ondragover = (event) => {
    event.preventDefault();
    document.body.classList.add("over");
  };
  document.ondragleave = ({ relatedTarget }) =>
    relatedTarget || document.body.classList.remove("over");
  document.ondrop = drop;
  const asked = new URLSearchParams(location.search);
  try {
    const given = PARTS.filter((part) => asked.get(part));
    if (given.length)
      take(Object.fromEntries(await Promise.all(given.map((part) => fetched(part, asked.get(part))))));
  } catch (error) {
    show(`Nothing was judged: ${error.message}.`);
  }
}

begin();
