// The dashboard's only script. Every page works without JavaScript. The script
// keeps pages up to date, navigates without flicker, copies to the clipboard and handles shortcuts. It writes no HTML:
// the server renders all content.
"use strict";

document.documentElement.classList.add("scripted");
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

// Live updates: the stream announces that the page has changed, and the script loads the page again.
let stream;
// The load of the current page that is under way.
let loading;
let latest = 0;
// Whether another page is being opened; then the current one is not reloaded.
let leaving = false;

function follow() {
  stream?.close();
  stream = undefined;
  const main = $("main[data-live]");
  if (!main || document.hidden) return;
  const source = new EventSource(`${main.dataset.live}?seen=${encodeURIComponent(main.dataset.seen)}`);
  stream = source;
  source.onopen = () => { $(".lost").hidden = true; };
  source.onmessage = () => refresh();
  source.onerror = () => {
    if (stream !== source) return;
    $(".lost").hidden = false;
    // Closed by the server: the session or the inbox has ended, and the reloaded page shows which.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => stream === source && refresh(true), 1000);
  };
}

// With `part`, the server sends only the content of the page.
async function load(url, part) {
  const headers = { accept: "text/html", ...(part && { "x-part": "1" }) };
  // Without a limit, a connection that went dead would end the live updates.
  const response = await fetch(url, { headers, ...(part && { signal: AbortSignal.timeout(60000) }) });
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith("text/html")) throw new Error("no page");
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return { response, page };
}

// Loads the page again, one load at a time: a change that is announced meanwhile leads to another load afterwards. If
// it replaced the running load, steady traffic would drop every result.
async function refresh(reconnects = false) {
  if (leaving) return;
  if (loading?.url === location.href) {
    loading.again = true;
    loading.reconnects ||= reconnects;
    return;
  }
  const own = (loading = { url: location.href, again: true, reconnects });
  const isCurrent = () => loading === own && own.url === location.href;
  while (own.again && isCurrent()) {
    own.again = false;
    try {
      const { response, page } = await load(own.url, true);
      if (isCurrent()) show(response, page, own);
    } catch {
      own.again = true;
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  }
  if (loading === own) loading = undefined;
}

function show(response, page, own) {
  const [main, fresh] = [$("main"), $("main", page)];
  const { live } = main.dataset;
  if (!response.ok || response.redirected || !fresh || (live && !fresh.dataset.live)) return location.reload();
  Object.assign(main.dataset, fresh.dataset);
  countFailures(fresh.dataset.failures);
  for (const region of $$("main [data-region]")) renew(region, $(`[data-region="${region.dataset.region}"]`, page));
  // A search on a page without live updates can lead to one that has them.
  if (own.reconnects || live !== main.dataset.live) follow();
  own.reconnects = false;
}

function countFailures(count) {
  const shown = $(".nav-count");
  if (!shown) return;
  shown.textContent = count;
  for (const name of ["title", "aria-label"]) shown.setAttribute(name, `${count} timed out in the last day`);
  shown.hidden = count === "0";
}

// Replaces a region. One that a search has extended keeps what was found, and gets only what is new.
function renew(old, fresh) {
  if (!fresh) return;
  const list = old.extended === location.href && $("[data-found]", old);
  if (old.extended === location.href && !fresh.querySelector("[data-key]")) return;
  if (list) return insert(list, fresh, true);
  replace(old, fresh);
  search(old);
}

// Adds the rows that a list does not have yet, and returns how many.
function insert(list, fresh, atTop) {
  const known = new Set($$("[data-key]", list).map((row) => row.dataset.key));
  const rows = $$("[data-key]", fresh).filter((row) => !known.has(row.dataset.key));
  if (atTop) list.prepend(...rows);
  else list.append(...rows);
  return rows.length;
}

// A search looks at messages in short steps. The script follows them until it has looked at everything, found enough,
// or is stopped.
async function search(region, link = $("[data-continue=auto]", region)) {
  const turn = (region.turn = {});
  delete region.extended;
  region.toggleAttribute("data-searching", Boolean(link));
  while (link && region.turn === turn) {
    const step = await load(link.href, true).catch(() => undefined);
    const fresh = step?.response.ok && $(`[data-region="${region.dataset.region}"]`, step.page);
    if (region.turn !== turn || !region.isConnected || region.closest("dialog:not([open])")) break;
    if (step && hasEnded(step.response)) location.reload();
    // What the server refuses now, it would also refuse later.
    if (step?.response.redirected || /^4/.test(step?.response.status)) break;
    if (!fresh) {
      await new Promise((resolve) => setTimeout(resolve, 2000));
      continue;
    }
    extend(region, fresh);
    link = $("[data-continue=auto]", region);
  }
  if (region.turn !== turn) return;
  if (region.hasAttribute("data-searching")) announce($("[data-searched]", region)?.firstChild?.textContent ?? "");
  stopSearch(region);
}

// Whether the session or the inbox has ended. The reloaded page shows which.
function hasEnded(response) {
  return response.redirected || [401, 403, 404].includes(response.status);
}

function stopSearch(region) {
  region.turn = undefined;
  region.removeAttribute("data-searching");
}

function extend(region, fresh) {
  const list = $("[data-found]", region);
  keepFocus(region, () => {
    if (list) {
      insert(list, fresh, false);
      $("[data-searched]", region)?.replaceWith($("[data-searched]", fresh) ?? "");
    } else region.replaceChildren(...fresh.childNodes);
  });
  region.extended = location.href;
}

function searchAll() {
  const link = $("main [data-continue=auto]");
  if (link) search(link.closest("[data-region]"));
}

searchAll();

function replace(old, fresh) {
  if (!fresh || old.innerHTML === fresh.innerHTML) return;
  const known = new Set($$("[data-key]", old).map((row) => row.dataset.key));
  const opened = new Map($$("details", old).map((one) => [detailsKey(one), one.open]));
  const chosen = $$(".choose[name]:checked", old).map((box) => box.value);
  const rows = $$("[data-key]", fresh).filter((row) => !known.has(row.dataset.key));
  rows.forEach((row) => row.classList.add("fresh"));
  $$("details", fresh).forEach((one) => { one.open = opened.get(detailsKey(one)) ?? one.open; });
  keepFocus(old, () => old.replaceChildren(...fresh.childNodes));
  $$(".choose[name]", old).forEach((box) => { box.checked = chosen.includes(box.value); });
  countChosen();
  if (rows.length) announce(rows.length === 1 ? "One new entry" : `${rows.length} new entries`);
  if (rows.length && document.hidden && rows.some((row) => row.matches(".message-row, .mail-row"))) missed(rows);
}

// The same panel has the same key after an update. The text of its summary may contain a count.
function detailsKey(details) {
  const row = details.closest("[data-key]")?.dataset.key ?? "";
  return `${row} ${details.dataset.details ?? $("summary", details).textContent}`;
}

// Changes the content of `root`. If the focus was in it, the same element of the new content gets it.
function keepFocus(root, change) {
  const focused = document.activeElement;
  const hadFocus = focused !== root && root.contains(focused);
  const same = hadFocus && lookalikes(root, focused);
  const at = hadFocus && same.indexOf(focused);
  change();
  if (!hadFocus || focused.isConnected) return;
  const found = lookalikes(root, focused);
  (found[at] ?? found[0])?.focus({ preventScroll: true });
}

function lookalikes(root, element) {
  const key = focusKey(element);
  return $$(element.localName, root).filter((one) => focusKey(one) === key);
}

function focusKey(element) {
  if (element.matches("summary")) return detailsKey(element.parentElement);
  const row = element.closest("[data-key]")?.dataset.key;
  const names = ["href", "name", "value", "aria-label", "data-stop"].map((name) => element.getAttribute(name));
  return JSON.stringify([row, ...names]);
}

// Mail that arrives while the page is hidden is counted in the title and on the icon, and may show a notification.
let unseen = 0;

function missed(rows) {
  unseen += rows.length;
  document.title = `(${unseen}) ${document.title.replace(/^\(\d+\) /, "")}`;
  $("link[rel=icon]").href = "/static/icon-new.svg";
  if (localStorage.getItem("notify") !== "yes" || globalThis.Notification?.permission !== "granted") return;
  for (const row of rows.slice(0, 3)) {
    const body = $(".subject", row)?.textContent ?? "";
    new Notification($(".from", row)?.textContent.trim() ?? "New mail", { body, tag: row.dataset.key });
  }
}

function attend() {
  unseen = 0;
  document.title = document.title.replace(/^\(\d+\) /, "");
  $("link[rel=icon]").href = "/static/icon.svg";
}

function showNotify() {
  const button = $("[data-notify]");
  if (!button || !globalThis.Notification) return;
  const is = localStorage.getItem("notify") === "yes" && Notification.permission === "granted";
  button.textContent = is ? "Stop notifications" : "Notify me of new mail";
  button.hidden = false;
}

async function toggleNotify() {
  const is = localStorage.getItem("notify") === "yes" && Notification.permission === "granted";
  if (!is && (await Notification.requestPermission()) !== "granted") return announce("Notifications are blocked");
  localStorage.setItem("notify", is ? "no" : "yes");
  showNotify();
}

function announce(text) {
  $(".announce").textContent = text;
}

// Navigation without flicker. The place in the list is kept in the history, and found again with Back.
async function visit(url, push = true, top = 0) {
  if (push) history.replaceState({ top: $("main")?.scrollTop ?? 0 }, "");
  const turn = ++latest;
  leaving = true;
  loading = undefined;
  // Loading a large message takes time.
  const slow = setTimeout(() => { $(".busy").hidden = false; }, 150);
  try {
    const { response, page } = await load(url);
    if (turn !== latest) return;
    leaving = false;
    $(".lost").hidden = true;
    $(".palette[open]")?.close();
    const [app, fresh] = [$(".app"), $(".app", page)];
    if (!app || !fresh) return location.assign(url);
    const [list, freshList] = [$(".list", app), $(".list", fresh)];
    const scrolled = list && freshList && sameInbox(url) ? list.scrollTop : 0;
    app.replaceWith(fresh);
    document.title = page.title;
    if (push) history.pushState(null, "", response.url);
    if (freshList) freshList.scrollTop = scrolled;
    $("main").scrollTop = top;
    fit();
    follow();
    showTab();
    showNotify();
    countChosen();
    searchAll();
    ($("main [autofocus]") ?? $(".message-row [aria-current]") ?? $("main")).focus({ preventScroll: true });
  } catch (error) {
    if (turn !== latest) return;
    if (!(error instanceof TypeError)) return location.assign(url);
    // The server cannot be reached: show a notice, and retry.
    $(".lost").hidden = false;
    setTimeout(() => { if (turn === latest) visit(url, push); }, 1000);
  } finally {
    clearTimeout(slow);
    const busy = $(".busy");
    if (busy && turn === latest) busy.hidden = true;
  }
}

// A width that does not fit is scaled down.
function fit() {
  const [sheet, frame] = [$(".sheet"), $(".mail")];
  if (!frame) return;
  frame.style.zoom = 1;
  const style = getComputedStyle(sheet);
  const room = sheet.clientWidth - Number.parseFloat(style.paddingLeft) - Number.parseFloat(style.paddingRight);
  frame.style.zoom = Math.min(1, room / frame.offsetWidth);
}

addEventListener("resize", fit);

// On a phone the row of tabs is wider than the window.
function showTab() {
  $(".reader .tabs [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
}

function sameInbox(url) {
  const inbox = (path) => path.split("/").slice(0, 5).join("/");
  return inbox(new URL(url, location.href).pathname) === inbox(location.pathname);
}

function isPlain(event) {
  return event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
}

function isPage(link, event) {
  const own = link.origin === location.origin && /^\/(projects|failures)\b/.test(link.pathname);
  return isPlain(event) && own && !link.target && !link.hasAttribute("download");
}

// Whether a link leads to a place in the current page. A browser that followed it would announce a place in the
// history, and so another page, which would discard what was written.
function isHere(link) {
  return link.hash && link.href.split("#")[0] === location.href.split("#")[0];
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy], [data-copy-next]");
  if (button) return void copy(button);
  if (event.target.closest("[data-notify]")) return void toggleNotify();
  if (event.target.closest("[data-find]")) {
    event.preventDefault();
    return openPalette();
  }
  if (event.target.closest("[data-shortcuts]")) return $(".shortcuts").showModal();
  $$("details.menu[open]").filter((menu) => !menu.contains(event.target)).forEach((menu) => { menu.open = false; });
  if (event.target.closest("[data-stop]")) return stopSearch(event.target.closest("[data-region]"));
  const link = event.target.closest("a[href]");
  if (link && isHere(link) && isPlain(event)) {
    event.preventDefault();
    return $(link.hash)?.focus();
  }
  if (link?.matches("[data-continue]") && isPage(link, event)) {
    event.preventDefault();
    return void search(link.closest("[data-region]"), link);
  }
  if (link && !event.defaultPrevented && isPage(link, event)) {
    event.preventDefault();
    visit(link.href);
  }
});
addEventListener("popstate", ({ state }) => visit(location.href, false, state?.top));
// A browser has few connections to one server, so a hidden page polls instead of keeping one open.
let looking;

function look() {
  clearInterval(looking);
  if (document.hidden) looking = setInterval(() => $("main[data-live]") && refresh(), 10000);
  follow();
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) attend();
  look();
});

// Selecting inboxes: all of the page, a range with Shift, and how many are selected.
// The value of the last box that was clicked. A live update replaces the box itself.
let lastChosen;

function countChosen() {
  const boxes = $$("input.choose[name]");
  const chosen = boxes.filter((box) => box.checked).length;
  const all = $("[data-choose-all]");
  if (!all) return;
  all.checked = chosen > 0 && chosen === boxes.length;
  all.indeterminate = chosen > 0 && chosen < boxes.length;
  $(".chosen-count").textContent = chosen ? `${chosen} selected` : "";
  $(".chosen .menu").hidden = !chosen;
}

document.addEventListener("click", (event) => {
  const box = event.target.closest("input.choose");
  if (!box) return;
  const boxes = $$("input.choose[name]");
  if (box.matches("[data-choose-all]")) boxes.forEach((one) => { one.checked = box.checked; });
  else if (event.shiftKey && lastChosen) {
    const last = boxes.findIndex((one) => one.value === lastChosen);
    const [from, to] = [last, boxes.indexOf(box)].sort((one, other) => one - other);
    if (from >= 0) boxes.slice(from, to + 1).forEach((one) => { one.checked = box.checked; });
  }
  lastChosen = box.name && box.value;
  countChosen();
});

// Search while typing.
let typing;
document.addEventListener("input", (event) => {
  if (!event.target.matches("[data-search], [data-filters] *")) return;
  clearTimeout(typing);
  typing = setTimeout(async () => {
    const form = event.target.form;
    const url = new URL(form.action);
    url.search = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    history.replaceState(null, "", url);
    await refresh();
  }, 150);
});

async function copy(button) {
  const text = button.dataset.copy ?? button.nextElementSibling.textContent;
  const copied = await write(text);
  button.dataset.label ??= button.textContent;
  button.textContent = copied ? "Copied" : "Failed";
  button.classList.toggle("done", copied);
  announce(button.textContent);
  setTimeout(() => { button.textContent = button.dataset.label; button.classList.remove("done"); }, 1500);
}

// Over plain HTTP, browsers allow only the old copy command.
async function write(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const focused = document.activeElement;
    const field = document.body.appendChild(document.createElement("textarea"));
    field.value = text;
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    focused?.focus();
    return copied;
  }
}

// Relative times are updated.
function since(element) {
  const seconds = Math.round((Date.now() - Date.parse(element.dateTime)) / 1000);
  const size = Math.abs(seconds);
  const [count, unit] =
    size < 60 ? [size, "s"]
    : size < 3600 ? [size / 60, "min"]
    : size < 86400 ? [size / 3600, "h"]
    : [size / 86400, "d"];
  const span = `${Math.floor(count)} ${unit}`;
  return seconds < 0 ? `in ${span}` : seconds < 5 ? "now" : `${span} ago`;
}

setInterval(() => {
  for (const element of $$("time[datetime]:not([data-exact])")) {
    const text = since(element);
    if (element.textContent !== text) element.textContent = text;
  }
}, 5000);

showTab();
fit();
look();
showNotify();
countChosen();

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
