// What is wrong with a page of a report. Runs in the page.

/** The relative luminance of a colour, as WCAG 2 has it. */
function luminance([red, green, blue]) {
  const part = (value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
}

/** Red, green, blue and opacity of a computed colour. */
function colour(text) {
  const parts = text.match(/[\d.]+/g).map(Number);
  return parts.length > 3 ? parts : [...parts, 1];
}

/** The colour that is behind an element. */
function ground(element) {
  for (let at = element; at; at = at.parentElement) {
    const found = colour(getComputedStyle(at).backgroundColor);
    if (found[3] > 0.99) return found;
  }
  return [255, 255, 255, 1];
}

function contrast(element, ink) {
  const [one, other] = [colour(ink), ground(element)].map((c) => luminance(c) + 0.05);
  return Math.max(one, other) / Math.min(one, other);
}

function words(element) {
  return element.textContent.trim().replace(/\s+/g, " ").slice(0, 60);
}

/** Problems of structure that a screen reader or a keyboard would meet. */
function structure() {
  const wrong = [];
  const ids = new Set();
  for (const element of document.querySelectorAll("[id]")) {
    if (ids.has(element.id)) wrong.push(`the id ${element.id} is there twice`);
    ids.add(element.id);
  }
  for (const element of document.querySelectorAll("[aria-labelledby]")) {
    const named = element.getAttribute("aria-labelledby").split(" ");
    const missing = named.find((id) => !words(document.getElementById(id) || element.ownerDocument.createElement("i")));
    if (missing) wrong.push(`${element.tagName} is named by ${missing}, which has no words`);
  }
  for (const link of document.querySelectorAll("a[href^='#']")) {
    if (!ids.has(link.getAttribute("href").slice(1))) wrong.push(`a link leads to ${link.getAttribute("href")}, which is not there`);
  }
  for (const tag of ["main", "header", "footer", "nav", "h1"]) {
    if (document.querySelectorAll(`body ${tag}`).length !== 1) wrong.push(`not one ${tag}`);
  }
  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
    const here = Number(heading.tagName[1]);
    if (here > level + 1) wrong.push(`the heading '${words(heading)}' jumps from ${level} to ${here}`);
    level = here;
  }
  for (const table of document.querySelectorAll("table")) {
    const name = words(table);
    if (!table.querySelector("thead th[scope=col]")) wrong.push(`a table without heads of columns: ${name}`);
    if (table.querySelector("tbody tr") && !table.querySelector("tbody th[scope=row]")) wrong.push(`a table without heads of rows: ${name}`);
  }
  for (const drawing of document.querySelectorAll("svg:not([aria-hidden])")) {
    if (drawing.getAttribute("role") !== "img" || !words(drawing.querySelector("title"))) wrong.push("a drawing without words");
  }
  for (const input of document.querySelectorAll("input")) {
    if (!input.closest("label")) wrong.push(`an input without a label: ${input.id || input.name}`);
  }
  for (const scrolling of document.querySelectorAll(".scroll")) {
    if (scrolling.tabIndex !== 0 || !scrolling.getAttribute("aria-label")) wrong.push("what scrolls cannot be reached by keyboard");
  }
  return wrong;
}

/** Words too pale to read, and words that do not fit. */
function looks() {
  const wrong = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) wrong.push(`${root.scrollWidth - root.clientWidth} pixels wider than the window`);
  const seen = new Set();
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!own || element.closest("svg, script, style, noscript, .skip") || !element.checkVisibility()) continue;
    const ratio = contrast(element, getComputedStyle(element).color);
    const kind = `${element.tagName}.${element.className}`;
    if (ratio < 4.5 && !seen.has(kind)) {
      seen.add(kind);
      wrong.push(`contrast ${ratio.toFixed(2)} of ${kind}: ${words(element)}`);
    }
  }
  for (const drawing of document.querySelectorAll("svg.plot")) {
    const around = drawing.getBoundingClientRect();
    for (const text of drawing.querySelectorAll("text")) {
      const at = text.getBoundingClientRect();
      const out = Math.max(around.left - at.left, at.right - around.right, around.top - at.top, at.bottom - around.bottom);
      if (out > 2) wrong.push(`${out.toFixed(0)} pixels of '${words(text)}' stand out of a drawing of ${drawing.closest("figure").id}`);
      const style = getComputedStyle(text);
      const ratio = contrast(drawing, style.fill);
      if (ratio < 4.5 && !seen.has(`svg ${text.className.baseVal}`)) {
        seen.add(`svg ${text.className.baseVal}`);
        wrong.push(`contrast ${ratio.toFixed(2)} of text ${text.className.baseVal}`);
      }
    }
    const lines = [...drawing.querySelectorAll(".line, .mark, .bar")];
    const pale = lines.find((line) => {
      const style = getComputedStyle(line);
      const ink = style.fill === "none" || style.fill.startsWith("url") ? style.stroke : style.fill;
      return contrast(drawing, ink) < 3;
    });
    if (pale) wrong.push(`a mark too pale in ${drawing.closest("figure").id}`);
  }
  return wrong;
}

/** Problems of the page, on which the items are to be: id, number of drawings, why there is none. */
function problems(items) {
  const wrong = [];
  for (const [id, drawings, problem] of items) {
    const figure = document.getElementById(id);
    if (!figure) {
      wrong.push(`${id} is not there`);
      continue;
    }
    if (problem) {
      if (!figure.querySelector(".problem")) wrong.push(`${id} does not say why it has no data`);
      continue;
    }
    const plots = [...figure.querySelectorAll("svg.plot")];
    if (plots.length !== drawings) wrong.push(`${id} has ${plots.length} drawings, not ${drawings}`);
    for (const plot of plots) {
      const { width, height } = plot.getBoundingClientRect();
      if (width < 150 || height < 60) wrong.push(`a drawing of ${id} is ${width} by ${height}`);
      if (!plot.querySelector(".mark, .bar, .tile")) wrong.push(`a drawing of ${id} is empty`);
    }
    if (!figure.querySelector("tbody tr")) wrong.push(`${id} has no table of its numbers`);
  }
  const found = document.querySelectorAll("#found .findings > li");
  if (found.length < 1 || found.length > 5) wrong.push(`${found.length} sentences of what was found`);
  if ([...found].some((sentence) => !words(sentence.querySelector(".certainty")))) wrong.push("a sentence without its certainty");
  for (const closed of document.querySelectorAll("details")) closed.open = true;
  return [...wrong, ...structure(), ...looks()];
}

/** Problems of the single wait: each slider changes what it is to. */
function sliders() {
  const wrong = [];
  const at = (id) => document.getElementById(id);
  if (!at("wait")) return ["there is no single wait"];
  const state = () => at("wait-bars").innerHTML + at("wait-table").textContent + at("wait-words").textContent;
  const move = (id, to) => {
    const before = state();
    at(id).value = to;
    at(id).dispatchEvent(new Event("input", { bubbles: true }));
    if (state() === before) wrong.push(`${id} changes nothing`);
  };
  const cell = (row, column) => Number.parseFloat(at("wait-table").rows[row].cells[column].textContent);
  if (at("wait-table").rows.length !== 4) wrong.push("not four modes");
  move("wait-saving", 0);
  const dear = cell(3, 3);
  move("wait-saving", 50);
  if (!(cell(3, 3) < dear)) wrong.push("a saving saves nothing");
  move("wait-late", 0);
  const early = cell(1, 1);
  move("wait-late", 9);
  if (!(cell(1, 1) > early + 10)) wrong.push("a late timer does not delay hybrid");
  if (!at("wait-words").textContent.includes("overslept")) wrong.push("hybrid does not say that it overslept");
  move("wait-device", 12);
  if (!(cell(0, 1) >= 80)) wrong.push("polling is faster than the device");
  return wrong;
}
