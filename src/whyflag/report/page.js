"use strict";
// All rows are in the page as it is read; this only chooses, sorts, searches and saves them.
document.documentElement.classList.add("js");
document.addEventListener("DOMContentLoaded", () => {
  const one = (selector, where = document) => where.querySelector(selector);
  const all = (selector, where = document) => [...where.querySelectorAll(selector)];
  const EACH = matchMedia("(max-width: 700px)").matches ? 8 : 50;
  const lines = all("#rows tbody tr");
  const body = one("#rows tbody");
  const search = one("#search");
  const state = { key: "score", up: false, group: null, at: 0, chosen: null, listed: lines };

  // What is searched, and sorted by.
  const article = (line) => document.getElementById(line.dataset.link);
  const words = new Map(lines.map((line) => [line, `${line.textContent} ${one(".why", article(line)).textContent}`.toLowerCase()]));
  const keys = {
    name: (line) => line.cells[0].textContent,
    score: (line) => Number(line.dataset.score),
    why: (line) => line.cells[2].textContent,
  };
  const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a - b);
  const order = new Map(lines.map((line, i) => [line, i]));

  const list = () => {
    const wanted = search.value.trim().toLowerCase();
    const by = keys[state.key];
    state.listed = lines
      .filter((line) => words.get(line).includes(wanted) && (state.group === null || line.dataset.group === state.group))
      .sort((a, b) => (state.up ? 1 : -1) * compare(by(a), by(b)) || order.get(a) - order.get(b));
    state.at = 0;
    for (const button of all("#rows th button")) {
      const how = button.dataset.key === state.key ? (state.up ? "ascending" : "descending") : "none";
      button.parentElement.setAttribute("aria-sort", how);
    }
    for (const button of all("#groups button")) button.setAttribute("aria-pressed", button.dataset.group === state.group);
    one("#found").textContent = state.listed.length === lines.length ? `${lines.length} rows` : `${state.listed.length} of ${lines.length} rows`;
    one("#every").hidden = state.group === null && !wanted;
    turn();
  };
  const turn = () => {
    const now = state.listed.slice(state.at, state.at + EACH);
    body.replaceChildren(...now);
    one(".pages").hidden = state.listed.length <= EACH;
    one("#page").textContent = now.length ? `${state.at + 1} to ${state.at + now.length}` : "";
    one("#back").disabled = state.at === 0;
    one("#on").disabled = state.at + EACH >= state.listed.length;
  };

  // One row.
  const choose = (line, { address = true, focus = false } = {}) => {
    if (state.chosen) {
      state.chosen.removeAttribute("aria-current");
      article(state.chosen).classList.remove("chosen");
    }
    state.chosen = line;
    line.setAttribute("aria-current", "true");
    article(line).classList.add("chosen");
    if (address) history.replaceState(null, "", `#${line.dataset.link}`);
    const position = state.listed.indexOf(line);
    if (position >= 0 && (position < state.at || position >= state.at + EACH)) {
      state.at = position - (position % EACH);
      turn();
    }
    if (focus) one("a", line).focus({ preventScroll: true });
    if (line.isConnected && focus) line.scrollIntoView({ block: "nearest" });
  };
  const called = (address) => lines.find((line) => `#${line.dataset.link}` === address);
  const follow = (event) => {
    const link = event.target.closest("a[href^='#']");
    const line = event.target.closest("#rows tbody tr") || (link && called(link.getAttribute("href")));
    if (!line) return;
    event.preventDefault();
    choose(line);
    // Where the row does not stand beside the list, go there.
    const top = article(line).getBoundingClientRect().top;
    if (top < 0 || top > 0.7 * window.innerHeight) article(line).scrollIntoView();
  };
  document.addEventListener("click", follow);
  window.addEventListener("hashchange", () => {
    const line = called(location.hash);
    if (line) choose(line, { address: false });
  });

  // Sorting, search, groups, pages, keys, theme.
  for (const button of all("#rows th button"))
    button.addEventListener("click", () => {
      const key = button.dataset.key;
      state.up = key === state.key ? !state.up : key !== "score";
      state.key = key;
      list();
    });
  search.addEventListener("input", list);
  for (const button of all("#groups button"))
    button.addEventListener("click", () => {
      state.group = state.group === button.dataset.group ? null : button.dataset.group;
      list();
      if (state.listed.length) choose(state.listed[0]);
    });
  one("#every").addEventListener("click", () => {
    state.group = null;
    search.value = "";
    list();
  });
  one("#back").addEventListener("click", () => { state.at -= EACH; turn(); });
  one("#on").addEventListener("click", () => { state.at += EACH; turn(); });
  document.addEventListener("keydown", (event) => {
    const typing = document.activeElement === search;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/" && !typing) {
      event.preventDefault();
      search.focus();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const at = state.listed.indexOf(state.chosen);
      const next = at < 0 ? 0 : at + (event.key === "ArrowDown" ? 1 : -1);
      if (next < 0 || next >= state.listed.length) return;
      event.preventDefault();
      choose(state.listed[next], { focus: !typing });
    }
  });
  const theme = one("#theme");
  const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const say = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    say();
  });
  say();

  // What is listed, as a file: one line for each row and column.
  const field = (text) => {
    // A spreadsheet would run what begins like this, but for numbers.
    const harmless = /^(?![-+]?[\d.,]+(e[-+]?\d+)?%?$)[=+\-@\t\r]/i.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
  };
  const text = (where, selector) => (one(selector, where) ? one(selector, where).textContent.trim() : "");
  const table = () => {
    const told = [["row", "score", "alarm", "sentence", "column", "share", "contribution", "observed", "normal", "range"]];
    for (const line of state.listed) {
      const row = article(line);
      for (const each of all(".why tbody tr:not(.others)", row))
        told.push([
          line.cells[0].textContent, line.dataset.score, one(".flag", line) ? "yes" : "no", text(row, ".sentence"),
          text(each, "th"), text(each, ".shares span"), one(".shares", each).dataset.value,
          text(each, ".observed strong"), text(each, ".change .normal"), text(each, ".change .span").slice(1, -1),
        ]);
    }
    return told.map((fields) => fields.map(field).join(",")).join("\n") + "\n";
  };
  one("#export").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([table()], { type: "text/csv" }));
    link.download = "why.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  window.addEventListener("beforeprint", () => {
    for (const part of all("article.chosen details")) part.open = true;
  });

  list();
  if (lines.length) choose(called(location.hash) || lines[0], { address: false });
});
