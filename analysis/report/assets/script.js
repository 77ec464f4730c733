"use strict";
(function () {
  const said = document.getElementById("said");
  const say = (words) => { said.textContent = ""; said.textContent = words; };

  // The color scheme: the reader's own until the button is used; kept where the browser lets a page keep anything.
  const root = document.documentElement;
  const remembered = () => { try { return localStorage.getItem("cotenant-theme"); } catch { return null; } };
  const remember = (theme) => { try { localStorage.setItem("cotenant-theme", theme); } catch { /* it holds for this visit */ } };
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const kept = remembered();
  if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  const toggle = document.createElement("button");
  toggle.type = "button";
  toggle.className = "theme";
  const name = () => { toggle.textContent = dark() ? "Light colors" : "Dark colors"; };
  toggle.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    remember(root.dataset.theme);
    name();
  });
  name();
  document.querySelector("header").prepend(toggle);

  // Sorting: numbers by value, words as people sort them; what has no value stays last.
  const words = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const key = (row, place, numeric) => {
    const cell = row.cells[place];
    if (!numeric) return cell.textContent;
    if (cell.classList.contains("bar")) return parseFloat(cell.innerText) || 0; // of the resource that is chosen
    const value = Number(cell.dataset.value ?? (cell.textContent || NaN));
    return Number.isNaN(value) ? null : value;
  };
  const sort = (table, heading) => {
    const place = heading.cellIndex;
    const numeric = heading.classList.contains("number");
    const up = heading.getAttribute("aria-sort") !== "ascending";
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row) => [key(row, place, numeric), row]);
    rows.sort(([one], [other]) => {
      if (one === null || other === null) return (one === null) - (other === null);
      const order = numeric ? one - other : words.compare(one, other);
      return up ? order : -order;
    });
    body.append(...rows.map((entry) => entry[1]));
    for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    say(`Sorted by ${heading.textContent}, ${up ? "ascending" : "descending"}.`);
  };
  for (const table of document.querySelectorAll("table")) {
    if (table.tBodies[0].rows.length < 2) continue;
    for (const heading of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sort(table, heading));
      heading.append(button);
    }
  }

  // Filters: rows that hold the text; parts without one are put away, parts with one are opened.
  for (const list of document.querySelectorAll("[data-filter]")) {
    const what = list.dataset.filter;
    const rows = Array.from(list.querySelectorAll("tbody tr"), (row) => (
      [row, ` ${Array.from(row.cells, (cell) => cell.textContent).join(" ")} `.toLowerCase()]));
    const parts = Array.from(list.querySelectorAll("details"), (part) => [part, part.open]);
    const box = document.createElement("input");
    const count = document.createElement("output");
    const filter = () => {
      const text = box.value.toLowerCase();
      for (const [row, words] of rows) row.hidden = !words.includes(text);
      for (const [part, open] of parts) {
        const some = part.querySelector("tbody tr:not([hidden])") !== null;
        (part.closest("li") || part).hidden = !some;
        part.open = text ? some : open;
      }
      const left = rows.filter(([row]) => !row.hidden).length;
      count.textContent = text ? `${left} of ${rows.length} ${what}` : "";
    };
    box.type = "search";
    box.addEventListener("input", filter);
    const label = document.createElement("label");
    label.append(`Filter ${what} `, box);
    const line = document.createElement("p");
    line.className = "filter";
    line.append(label, count);
    if (rows.length > 5) list.prepend(line);
  }

  // On paper everything is unfolded.
  const folded = new Set();
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details:not([open])")) { folded.add(part); part.open = true; }
  });
  addEventListener("afterprint", () => {
    for (const part of folded) part.open = false;
    folded.clear();
  });

  // What scrolls sideways says so.
  const tell = () => {
    for (const box of document.querySelectorAll(".scroll")) {
      box.parentElement.toggleAttribute("data-wider", box.scrollWidth > box.clientWidth + 1);
    }
  };
  addEventListener("resize", tell);
  document.addEventListener("toggle", tell, true);
  tell();

  // A link to a folded part opens it.
  for (const link of document.querySelectorAll('a[href^="#"]')) {
    const part = document.getElementById(link.hash.slice(1));
    if (part instanceof HTMLDetailsElement) link.addEventListener("click", () => { part.open = true; });
  }

  // Copying commands and answers; an answer can be saved as a file too.
  const copy = async (text, shown) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      getSelection().selectAllChildren(shown);
      return document.execCommand("copy");
    }
  };
  const add_button = (words, action) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = words;
    button.addEventListener("click", () => action(button));
    return button;
  };
  const copy_button = (words, what, text, shown) => add_button(words, async (button) => {
    const done = await copy(text, shown);
    button.textContent = done ? "Copied" : "Select it by hand";
    say(done ? `The ${what} is copied.` : "The browser does not let pages copy.");
    setTimeout(() => { button.textContent = words; }, 2000);
  });
  for (const command of document.querySelectorAll(".command")) {
    const code = command.querySelector("code");
    command.append(copy_button("Copy", "command", code.textContent, code));
  }
  for (const answer of document.querySelectorAll(".answer")) {
    const text = answer.dataset.copy;
    const line = document.createElement("p");
    line.className = "filter";
    line.append(
      copy_button("Copy as CSV", "answer", text, answer.querySelector("tbody")),
      add_button("Save as CSV", () => {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
        link.download = `${answer.id}.csv`;
        link.click();
        URL.revokeObjectURL(link.href);
      }),
    );
    answer.querySelector("summary").after(line);
  }
})();
