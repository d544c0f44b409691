"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const body = document.querySelector("#rows tbody");
  const search = document.getElementById("search");
  const state = { key: "score", up: false, chosen: 0, listed: [] };

  // Everything from the data goes in as text, never as HTML.
  const element = (name, text, attributes = {}) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const drawing = (width, height, parts, label) => {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("height", height);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", label);
    for (const [name, attributes] of parts) {
      const part = document.createElementNS(space, name);
      for (const [key, value] of Object.entries(attributes)) part.setAttribute(key, value);
      svg.append(part);
    }
    return svg;
  };
  const number = (value) => {
    const shown = Number(value.toPrecision(4));
    return Math.abs(shown) >= 1e5 || (shown !== 0 && Math.abs(shown) < 1e-4) ? shown.toExponential(2) : String(shown);
  };
  const signed = (value) => (value > 0 ? "+" : value < 0 ? "−" : "") + number(Math.abs(value));
  const nameOf = (j) => data.features[j].name;
  const culprit = (row) => row.features.reduce((best, one) => (one.value > best.value ? one : best), row.features[0]);

  // The list of rows.
  const keys = {
    name: (row) => row.name,
    score: (row) => row.score,
    culprit: (row) => nameOf(culprit(row).feature),
    group: (row) => row.group,
  };
  const matches = (row, wanted) =>
    row.name.toLowerCase().includes(wanted) ||
    row.features.some((one) => one.value > 0 && nameOf(one.feature).toLowerCase().includes(wanted));
  const list = () => {
    const wanted = search.value.trim().toLowerCase();
    const by = keys[state.key];
    const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a - b);
    state.listed = data.rows
      .map((row, i) => i)
      .filter((i) => matches(data.rows[i], wanted))
      .sort((i, j) => (state.up ? 1 : -1) * compare(by(data.rows[i]), by(data.rows[j])) || i - j);
    body.replaceChildren(
      ...state.listed.map((i) => {
        const row = data.rows[i];
        const line = element("tr", undefined, { "data-row": i });
        const name = element("td");
        const button = element("button", row.name, { type: "button", tabindex: "-1" });
        name.append(button);
        const score = element("td", number(row.score), { class: row.flagged ? "number flag" : "number" });
        if (row.flagged) score.append(element("span", " ⚑", { "aria-label": "flagged" }));
        if (row.remark) score.append(element("strong", " !", { title: row.remark, "aria-label": "has a remark" }));
        line.append(name, score, element("td", nameOf(culprit(row).feature)), element("td", String(row.group + 1), { class: "number" }));
        line.addEventListener("click", () => choose(i));
        return line;
      })
    );
    document.getElementById("found").textContent =
      state.listed.length === data.rows.length ? `${data.rows.length} rows` : `${state.listed.length} of ${data.rows.length} rows`;
    for (const button of document.querySelectorAll("#rows th button")) {
      const how = button.dataset.key === state.key ? (state.up ? "ascending" : "descending") : "none";
      button.parentElement.setAttribute("aria-sort", how);
    }
    mark();
  };
  const mark = () => {
    for (const line of body.children) {
      const current = Number(line.dataset.row) === state.chosen;
      line.setAttribute("aria-current", current);
      line.querySelector("button").tabIndex = current ? 0 : -1;
    }
  };
  const choose = (i, focus = false) => {
    state.chosen = i;
    mark();
    show(data.rows[i]);
    const line = body.querySelector(`[data-row="${i}"]`);
    if (line) line.scrollIntoView({ block: "nearest" });
    if (line && focus) line.querySelector("button").focus({ preventScroll: true });
  };

  // One row.
  const barOf = (value, error, span, kind) => {
    const scale = 960 / (span.high - span.low), zero = 20 - span.low * scale, end = zero + value * scale;
    const parts = [["rect", { x: Math.min(zero, end), y: 4, width: Math.max(1, Math.abs(value * scale)), height: 14, class: kind }]];
    parts.push(["line", { x1: zero, x2: zero, y1: 0, y2: 22, class: "axis", "vector-effect": "non-scaling-stroke" }]);
    if (error) {
      const low = end - 2 * error * scale, high = end + 2 * error * scale;
      parts.push(["path", { d: `M${low} 11H${high}M${low} 7V15M${high} 7V15`, class: "error", "vector-effect": "non-scaling-stroke" }]);
    }
    const spread = error ? `, give or take ${number(2 * error)}` : "";
    return drawing(1000, 22, parts, signed(value) + spread);
  };
  const where = (one) => {
    const feature = data.features[one.feature];
    if (feature.frequencies) {
      const known = feature.frequencies.find(([name]) => name === one.observed);
      return element("span", known ? `${number(100 * known[1])} % of normal rows have ${one.observed}` : "in no normal row");
    }
    if (!feature.quantiles || one.at === undefined) return element("span", "");
    const q = feature.quantiles, points = [one.at, ...(one.to === undefined ? [] : [one.to])];
    const low = Math.min(q[0], ...points), high = Math.max(q[q.length - 1], ...points);
    const x = (value) => (high > low ? 10 + (980 * (value - low)) / (high - low) : 500);
    const cells = 40, heights = new Array(cells).fill(0);
    // Between two quantiles lies the same share of normal rows, so a narrow gap is a high density.
    for (let k = 0; k + 1 < q.length; k++) {
      const from = x(q[k]), to = Math.max(x(q[k + 1]), from + 1e-9);
      for (let c = 0; c < cells; c++) {
        const a = 10 + (980 * c) / cells, b = a + 980 / cells;
        heights[c] += Math.max(0, Math.min(b, to) - Math.max(a, from)) / (to - from);
        if (to - from < 1e-6 && from >= a && (from < b || c === cells - 1)) heights[c] += 1;
      }
    }
    const tallest = Math.max(...heights) || 1;
    const parts = heights.map((h, c) => ["rect", { x: 10 + (980 * c) / cells, y: 26 - (24 * h) / tallest, width: 980 / cells, height: (24 * h) / tallest, class: "density" }]);
    if (one.to !== undefined) parts.push(["line", { x1: x(one.to), x2: x(one.to), y1: 0, y2: 28, class: "to", "vector-effect": "non-scaling-stroke" }]);
    parts.push(["line", { x1: x(one.at), x2: x(one.at), y1: 0, y2: 28, class: "at", "vector-effect": "non-scaling-stroke" }]);
    const below = q.filter((value) => value < one.at).length / q.length, above = q.filter((value) => value > one.at).length / q.length;
    const lies = below === 1 ? "above every normal value" : above === 1 ? "below every normal value" : `above ${Math.round(100 * below)} % of normal values`;
    const drawn = drawing(1000, 28, parts, `${one.observed} lies ${lies}`);
    const both = element("div");
    both.append(drawn, element("span", lies, { class: "hint" }));
    return both;
  };
  const show = (row) => {
    document.getElementById("detail-title").textContent = `Row ${row.name}`;
    const parts = [];
    if (row.sentence) parts.push(element("p", row.sentence, { class: "sentence" }));
    let said = `Score ${number(row.score)}`;
    if (data.threshold !== null) said += row.flagged ? `, above the alarm at ${number(data.threshold)}.` : `, below the alarm at ${number(data.threshold)}.`;
    else said += ".";
    if (data.additive) said += ` The attributions start at ${number(row.base)}, the score of a normal row.`;
    parts.push(element("p", said));
    if (row.remark) parts.push(element("p", row.remark, { class: "remark", role: "note" }));

    const table = element("table", undefined, { class: "attributions" });
    const head = element("tr");
    for (const [title, kind] of [["Feature", ""], ["Attribution", "number"], ["lowers · raises", "bar"], ["Observed → would have been normal", ""], ["Among normal values", "where"]])
      head.append(element("th", title, { scope: "col", class: kind }));
    const thead = element("thead");
    thead.append(head);
    const lines = element("tbody");
    const ends = [row.rest, ...row.features.flatMap((one) => [one.value - 2 * (one.error || 0), one.value + 2 * (one.error || 0)])];
    const span = { low: Math.min(0, ...ends), high: Math.max(0, ...ends) + 1e-300 };
    for (const one of row.features) {
      const line = element("tr");
      const bar = element("td", undefined, { class: "bar" });
      bar.append(barOf(one.value, one.error, span, one.value >= 0 ? "raises" : "lowers"));
      const change = element("td", undefined, { class: "change" });
      change.append(element("strong", one.observed));
      if (one.normal !== undefined) change.append(" → ", element("span", one.normal, { class: "normal" }));
      if (one.range && one.range[0] !== one.range[1]) change.append(element("span", ` (${one.range[0]} to ${one.range[1]})`, { class: "range" }));
      const place = element("td", undefined, { class: "where" });
      place.append(where(one));
      line.append(element("th", nameOf(one.feature), { scope: "row" }), element("td", signed(one.value), { class: "number" }), bar, change, place);
      lines.append(line);
    }
    const others = data.features.length - row.features.length;
    if (others > 0) {
      const line = element("tr");
      const bar = element("td", undefined, { class: "bar" });
      bar.append(barOf(row.rest, 0, span, "rest"));
      line.append(element("th", `${others} others`, { scope: "row" }), element("td", signed(row.rest), { class: "number" }), bar, element("td"), element("td"));
      lines.append(line);
    }
    table.append(thead, lines);
    parts.push(table);

    if (row.members) {
      parts.push(element("h3", `Methods agree on ${Math.round(100 * row.agreement)} % of the shares`));
      const said = element("table", undefined, { class: "members" });
      const first = element("tr");
      first.append(element("th", "Share of the score", { scope: "col" }));
      for (const member of row.members) first.append(element("th", member.method, { scope: "col", class: "number" }));
      const top = element("thead");
      top.append(first);
      const rest = element("tbody");
      for (const one of row.features.slice(0, 6)) {
        const line = element("tr");
        line.append(element("th", nameOf(one.feature), { scope: "row" }));
        for (const member of row.members) line.append(element("td", `${Math.round(100 * member.shares[one.feature])} %`, { class: "number" }));
        rest.append(line);
      }
      said.append(top, rest);
      parts.push(said);
    }
    document.getElementById("detail-body").replaceChildren(...parts);
  };

  // Over all rows.
  for (const one of data.culprits) {
    const line = element("tr");
    const bar = element("td");
    const width = element("span", undefined, { class: "fall", "aria-hidden": "true" });
    width.style.width = `${60 * (one.share / (data.culprits[0].share || 1))}%`;
    bar.append(width, `${Math.round(100 * one.share)} %`);
    line.append(element("th", nameOf(one.feature), { scope: "row" }), bar, element("td", one.first === 1 ? "1 row" : `${one.first} rows`, { class: "number" }));
    document.querySelector("#culprits tbody").append(line);
  }
  data.groups.slice(0, 20).forEach((group, k) => {
    const line = element("tr");
    const cell = element("td");
    const button = element("button", `Group ${k + 1}`, { type: "button" });
    button.addEventListener("click", () => choose(group.rows[0]));
    cell.append(button);
    line.append(cell, element("td", group.features.map(nameOf).join(", ")), element("td", String(group.rows.length), { class: "number" }));
    document.querySelector("#groups tbody").append(line);
  });
  if (data.groups.length > 20) {
    const line = element("tr");
    line.append(element("td", `and ${data.groups.length - 20} smaller ones`, { colspan: "3" }));
    document.querySelector("#groups tbody").append(line);
  }

  // Keys, sorting, search, theme.
  for (const button of document.querySelectorAll("#rows th button"))
    button.addEventListener("click", () => {
      const key = button.dataset.key;
      state.up = key === state.key ? !state.up : key !== "score";
      state.key = key;
      list();
    });
  search.addEventListener("input", list);
  document.addEventListener("keydown", (event) => {
    const typing = document.activeElement === search;
    if (event.key === "/" && !typing) {
      event.preventDefault();
      search.focus();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const at = state.listed.indexOf(state.chosen);
      const next = at < 0 ? 0 : at + (event.key === "ArrowDown" ? 1 : -1);
      if (next < 0 || next >= state.listed.length) return;
      event.preventDefault();
      choose(state.listed[next], !typing);
    }
  });
  const theme = document.getElementById("theme");
  const paint = (dark) => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    theme.setAttribute("aria-pressed", dark);
  };
  paint(window.matchMedia("(prefers-color-scheme: dark)").matches);
  theme.addEventListener("click", () => paint(document.documentElement.dataset.theme !== "dark"));

  list();
  if (data.rows.length) choose(0);
})();
