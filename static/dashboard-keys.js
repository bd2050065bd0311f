// The second part of the dashboard's script: shortcuts and the command palette.

// Shortcuts.
function step(by) {
  const links = $$("main [data-row] .row-link");
  const at = links.indexOf(document.activeElement);
  const open = links.findIndex((link) => link.hasAttribute("aria-current"));
  const from = at >= 0 ? at : open;
  const next = links[from < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(Math.max(from + by, 0), links.length - 1)];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  if (next && $(".message-row") && matchMedia("(min-width: 781px)").matches && $(".reader:not(.idle)")) next.click();
}

// The command palette: the results of the search page, in a dialog.
let finding = 0;
// Whether the results are still those of an earlier text, and whether the first of the new ones is to be opened.
let outdated = false;
let opensFirst = false;

function openPalette() {
  const palette = $(".palette");
  if (!palette || !$("[data-find]")) return;
  opensFirst = false;
  palette.showModal();
  $("input", palette).select();
  findIn(palette);
}

async function findIn(palette) {
  const turn = ++finding;
  outdated = true;
  const url = new URL($("[data-find]").href);
  url.searchParams.set("q", $("input", palette).value);
  const found = await load(url, true).catch(() => undefined);
  if (turn !== finding) return;
  if (!found) return void setTimeout(() => turn === finding && palette.open && findIn(palette), 2000);
  if (hasEnded(found.response)) return location.reload();
  const results = $(".palette-results", palette);
  results.replaceChildren(...($('[data-region="found"]', found.page)?.childNodes ?? []));
  outdated = false;
  search(results);
  if (opensFirst && palette.open) $(".row-link", results)?.click();
  opensFirst = false;
}

document.addEventListener("input", (event) => {
  const palette = event.target.closest(".palette");
  if (!palette) return;
  // A load that is under way is for an earlier text.
  finding += 1;
  outdated = true;
  opensFirst = false;
  clearTimeout(typing);
  typing = setTimeout(() => findIn(palette), 150);
});

document.addEventListener("keydown", (event) => {
  // The key belongs to the input method, such as Enter that confirms a word.
  if (event.isComposing) return;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    return openPalette();
  }
  const palette = event.target.closest(".palette");
  if (!palette) return;
  const links = $$(".row-link", palette);
  const at = links.indexOf(document.activeElement);
  if (event.key === "ArrowDown") links[Math.min(at + 1, links.length - 1)]?.focus();
  else if (event.key === "ArrowUp") (at > 0 ? links[at - 1] : $("input", palette)).focus();
  else if (event.key === "Enter" && at < 0 && outdated) opensFirst = true;
  else if (event.key === "Enter" && at < 0) links[0]?.click();
  // A browser would only clear the field at the first press.
  else if (event.key === "Escape") palette.close();
  else return;
  event.preventDefault();
});

const keys = {
  j: () => step(1),
  k: () => step(-1),
  ArrowDown: () => step(1),
  ArrowUp: () => step(-1),
  "/": () => $("[data-search]")?.focus(),
  n: () => ($("[data-new] summary") ?? $("[data-new]"))?.click(),
  r: () => $("[data-reply]")?.click(),
  c: () => ($(".letter .copy") ?? $(".top .copy") ?? $("main .copy"))?.click(),
  u: () => ($(".letter .up") ?? $("[data-up]"))?.click(),
  "?": () => $(".shortcuts")?.showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (event.key === "Escape") {
    const [menus, over] = [$$("details.menu[open]"), $("dialog[open], :popover-open")];
    menus.forEach((menu) => { menu.open = false; $("summary", menu).focus(); });
    if (event.target.matches("[data-search]")) event.target.blur();
    else if (!menus.length && !over && !event.target.matches("input, textarea")) keys.u();
    return;
  }
  const writes = event.target.matches("input, textarea, select, [contenteditable]");
  if (writes || event.metaKey || event.ctrlKey || event.altKey || $("dialog[open]")) return;
  if (event.key.startsWith("Arrow") && !event.target.matches("body, main, .row-link")) return;
  const tab = /^[1-9]$/.test(event.key) ? $$("[data-tab]")[event.key - 1] : undefined;
  const action = tab ? () => tab.click() : Object.hasOwn(keys, event.key) ? keys[event.key] : undefined;
  if (!action) return;
  event.preventDefault();
  action();
});
