// One judgement: loads Python, then runs verify.pyz, as it is, on the two files that the page sends.
const PROGRAM = `
import contextlib, io, runpy, sys
sys.argv = ["verify.pyz", *names]
words, code = io.StringIO(), None
with contextlib.redirect_stdout(words):
    try:
        runpy.run_path("verify.pyz", run_name="__main__")
    except SystemExit as end:
        code = end.code
[words.getvalue().rstrip("\\n"), code]
`;

async function load() {
  const { loadPyodide, version } = await import("./pyodide/pyodide.mjs");
  const [python, answer] = await Promise.all([loadPyodide(), fetch("verify.pyz")]);
  if (!answer.ok) throw new Error("verify.pyz is not there");
  python.FS.writeFile("verify.pyz", new Uint8Array(await answer.arrayBuffer()));
  const about = python.runPython(`
import hashlib, sys
[sys.version.split()[0], hashlib.sha256(open("verify.pyz", "rb").read()).hexdigest()]`).toJs();
  postMessage({ ready: { pyodide: version, python: about[0], sha256: about[1] } });
  return python;
}

const loading = load();
loading.catch((error) => postMessage({ missing: String(error.message || error) }));

onmessage = async ({ data }) => {
  try {
    for (const file of Object.values(data))
      await file.slice(0, 1).arrayBuffer().catch(() => {
        throw new Error(`${file.name} has changed, or cannot be read: choose it again`);
      });
    const python = await loading;
    const names = ["instance", "proof"].map((part) => {
      const file = data[part];
      python.FS.mkdir(part);
      python.FS.mount(python.FS.filesystems.WORKERFS, { files: [file] }, part);
      return `${part}/${file.name}`;
    });
    python.globals.set("names", python.toPy(names));
    const [words, code] = python.runPython(PROGRAM).toJs();
    postMessage({ words, code });
  } catch (error) {
    postMessage({ failed: String(error.message || error).trim().split("\n").pop() });
  }
};
