"use strict";
// Sortable tables. Without scripts they are plain tables, best first.
function value(cell) {
  if (!cell) return "";
  const text = cell.dataset.v ?? cell.textContent.trim();
  const plain = text.replace(/,/g, "").replace("−", "-").replace(/^[<>]\s*/, "");
  const number = parseFloat(plain);
  return Number.isNaN(number) ? (text === "–" || text === "nan" ? null : text.toLowerCase()) : number;
}
function compare(a, b) {
  // What is not known stays below, in both directions.
  if (a === null || b === null) return (a === null) - (b === null) || 0;
  if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
  return typeof a === "number" ? -1 : 1;
}
function sort(table, header) {
  const isRising = header.getAttribute("aria-sort") !== "ascending";
  const column = header.cellIndex;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows, (row) => [value(row.cells[column]), row]);
  rows.sort(([a], [b]) =>
    a === null || b === null ? compare(a, b) : isRising ? compare(a, b) : compare(b, a));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", isRising ? "ascending" : "descending");
  body.append(...rows.map(([, row]) => row));
}
for (const table of document.querySelectorAll("table.sortable")) {
  for (const header of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    button.addEventListener("click", () => sort(table, header));
    header.append(button);
  }
}
// On paper nothing can be unfolded.
let folded = [];
addEventListener("beforeprint", () => {
  folded = Array.from(document.querySelectorAll("details:not([open]):not(.data)"));
  for (const fold of folded) fold.open = true;
});
addEventListener("afterprint", () => { for (const fold of folded) fold.open = false; });
