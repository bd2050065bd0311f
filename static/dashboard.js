// The dashboard's only script. Every page works without it. It writes no HTML: the server renders all content.
"use strict";

document.documentElement.classList.add("scripted");
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

// Live updates: the stream announces a change, and the script loads the page again.
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
  const url = new URL(main.dataset.live, location.href);
  url.searchParams.set("seen", main.dataset.seen);
  const source = new EventSource(url);
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

// Loads the page again, one load at a time: if a change replaced the running load, steady traffic would drop every
// result.
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
  const { failures } = fresh.dataset;
  const [count, name] = [$(".nav-count"), `${failures} new`];
  if (count) Object.assign(count, { textContent: failures, title: name, ariaLabel: name, hidden: failures === "0" });
  for (const region of $$("main [data-region]")) renew(region, $(`[data-region="${region.dataset.region}"]`, page));
  mark();
  // The first message takes the place of the help, or of the waits for it.
  if ($(".reader.idle, [data-until-mail]") && $(".message-row") && !$("[data-search]")?.value) visit(location.href, false);
  // A search on a page without live updates can lead to one that has them.
  if (own.reconnects || live !== main.dataset.live) follow();
  own.reconnects = false;
}

// Replaces a region. A list that was extended, or whose reader is not at its top, keeps its rows.
function renew(old, fresh) {
  if (!fresh) return;
  const [list, freshList] = [$("[data-found]", old), $("[data-found]", fresh)];
  const isAway = list && freshList && old.parentElement.scrollTop > 0;
  const newer = $("[data-newer]");
  if (newer && freshList) newer.hidden = true;
  if (isAway || old.extended === location.href) {
    if (!freshList) return;
    const rows = newRows(list, freshList);
    notice(rows);
    if (!isAway) return list.prepend(...rows);
    newer.textContent = `${rows.length} new`;
    newer.hidden = !rows.length;
    return;
  }
  replace(old, fresh);
  search(old);
}

function newRows(list, fresh) {
  const known = new Set($$("[data-key]", list).map((row) => row.dataset.key));
  return $$("[data-key]", fresh).filter((row) => !known.has(row.dataset.key));
}

// A search looks at messages in short steps, which the script follows until it has found enough or is stopped.
async function search(region, link = $("[data-continue=auto]", region)) {
  const turn = (region.turn = {});
  delete region.extended;
  region.toggleAttribute("data-searching", Boolean(link));
  while (link && region.turn === turn) {
    const step = await load(link.href, true).catch(() => undefined);
    const fresh = step?.response.ok && $(`[data-region="${region.dataset.region}"]`, step.page);
    if (region.turn !== turn || !region.isConnected) break;
    // The session or the inbox has ended, and the reloaded page shows which.
    if (step && (step.response.redirected || [401, 403, 404].includes(step.response.status))) location.reload();
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

const stopSearch = (region) => { region.turn = undefined; region.removeAttribute("data-searching"); };

function extend(region, fresh) {
  const list = $("[data-found]", region);
  keepFocus(region, () => {
    if (list) {
      list.append(...newRows(list, fresh));
      const count = $("[data-count]");
      if (count) count.textContent = list.children.length;
      $("[data-searched]", region)?.replaceWith($("[data-searched]", fresh) ?? "");
    } else region.replaceChildren(...fresh.childNodes);
  });
  region.extended = location.href;
  mark();
}

// The next page is loaded when its link comes near.
const nearEnd = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) {
    const region = target.closest("[data-region]");
    if (isIntersecting && region && region.turn === undefined) search(region, target);
  }
}, { rootMargin: "300px" });

// Which message is open, and which ones this browser has opened before.
function mark() {
  const reader = $(".reader");
  const open = reader?.dataset.message;
  let read = JSON.parse(localStorage.getItem("read") ?? "[]");
  if (open && !read.includes(open) && isShown(reader)) {
    read = [...read, open].slice(-5000);
    localStorage.setItem("read", JSON.stringify(read));
  }
  const known = new Set(read);
  for (const row of $$(".message-row")) {
    const isOpen = row.dataset.key === open;
    row.toggleAttribute("data-open", isOpen);
    row.classList.toggle("unread", !known.has(row.dataset.key));
    $(".row-link", row).ariaCurrent = isOpen ? "true" : null;
  }
  nearEnd.disconnect();
  $$("[data-more]").forEach((link) => nearEnd.observe(link));
}

const isShown = (element) => element.offsetParent !== null;

const searchAll = () => $$("main [data-continue=auto]").forEach((link) => search(link.closest("[data-region]")));

searchAll();

function replace(old, fresh) {
  if (!fresh || old.innerHTML === fresh.innerHTML) return;
  const opened = new Map($$("details", old).map((one) => [detailsKey(one), one.open]));
  const chosen = $$(".choose[name]:checked", old).map((box) => box.value);
  const rows = newRows(old, fresh);
  rows.forEach((row) => row.classList.add("fresh"));
  $$("details", fresh).forEach((one) => { one.open = opened.get(detailsKey(one)) ?? one.open; });
  keepFocus(old, () => old.replaceChildren(...fresh.childNodes));
  $$(".choose[name]", old).forEach((box) => { box.checked = chosen.includes(box.value); });
  countChosen();
  notice(rows);
}

function notice(rows) {
  if (rows.length) announce(rows.length === 1 ? "One new entry" : `${rows.length} new entries`);
  if (rows.length && document.hidden && rows.some((row) => row.matches(".message-row"))) missed(rows);
}

// The same panel has the same key after an update; the text of its summary may contain a count.
function detailsKey(details) {
  const row = details.closest("[data-key]")?.dataset.key ?? "";
  return `${row} ${details.dataset.details ?? $("summary", details).textContent}`;
}

// Changes the content of `root`. The same element of the new content has the focus.
function keepFocus(root, change) {
  const focused = document.activeElement;
  if (focused === root || !root.contains(focused)) return change();
  const lookalikes = () => $$(focused.localName, root).filter((one) => focusKey(one) === focusKey(focused));
  const at = lookalikes().indexOf(focused);
  change();
  if (focused.isConnected) return;
  const found = lookalikes();
  (found[at] ?? found[0])?.focus({ preventScroll: true });
}

function focusKey(element) {
  if (element.matches("summary")) return detailsKey(element.parentElement);
  const row = element.closest("[data-key]")?.dataset.key;
  const names = ["href", "name", "value", "aria-label", "data-stop"].map((name) => element.getAttribute(name));
  return JSON.stringify([row, ...names]);
}

// Mail that arrives while the page is hidden is counted in its title, and may show a notification.
let unseen = 0;

function missed(rows) {
  unseen += rows.length;
  document.title = `(${unseen}) ${document.title.replace(/^\(\d+\) /, "")}`;
  $("link[rel=icon]").href = "/static/icon-new.svg";
  if (!notifies()) return;
  for (const row of rows.slice(0, 3)) {
    const body = $(".subject", row)?.textContent ?? "";
    new Notification($(".from", row)?.textContent.trim() ?? "New mail", { body, tag: row.dataset.key });
  }
}

const notifies = () => localStorage.getItem("notify") === "yes" && globalThis.Notification?.permission === "granted";

function showNotify() {
  const button = $("[data-notify]");
  if (!button || !globalThis.Notification) return;
  button.textContent = notifies() ? "Stop notifications" : "Notify me of new mail";
  button.hidden = false;
}

async function toggleNotify() {
  const is = notifies();
  if (!is && (await Notification.requestPermission()) !== "granted") return announce("Notifications are blocked");
  localStorage.setItem("notify", is ? "no" : "yes");
  showNotify();
}

const announce = (text) => { $(".announce").textContent = text; };

const scroller = () => $(".list") ?? $("main");

// Navigation without flicker. Back leads to the same place in a list.
async function visit(url, push = true, top = 0) {
  if (push) history.replaceState({ top: scroller()?.scrollTop ?? 0 }, "");
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
    const [app, fresh] = [$(".app"), $(".app", page)];
    if (!app || !fresh) return location.assign(url);
    const wasInList = document.activeElement.closest(".list");
    document.title = page.title;
    if (push) history.pushState(null, "", response.url);
    if (stays(fresh)) return opened(fresh, wasInList);
    app.replaceWith(fresh);
    scroller().scrollTop = top;
    follow();
    showNotify();
    countChosen();
    searchAll();
    mark();
    settle();
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

// Whether a page differs only in the message that is open: the list stays as it is.
function stays(fresh) {
  const [list, freshList] = [$(".list"), $(".list", fresh)];
  const [open, other] = [$(".reader[data-message]"), $(".reader[data-message]", fresh)];
  return list && freshList && open && other && list.dataset.list === freshList.dataset.list
    && $("[data-search]").value === $("[data-search]", fresh).value
    && $(`[data-key="${other.dataset.message}"]`, list);
}

function opened(fresh, wasInList) {
  $(".reader").replaceWith($(".reader", fresh));
  $("main").className = $("main", fresh).className;
  const region = $("[data-region=mail]");
  if (region.extended) region.extended = location.href;
  mark();
  settle();
  const current = $(".message-row [aria-current]");
  const next = wasInList && isShown(current) ? current : $(".reader [aria-current]");
  next?.focus({ preventScroll: true });
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

// What depends on the size of the window. On a phone the row of tabs is wider than that.
function settle() {
  fit();
  $(".reader .tabs [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
}

const isPlain = (event) => event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;

function isPage(link, event) {
  const own = link.origin === location.origin && /^\/(projects|failures)\b/.test(link.pathname);
  return isPlain(event) && own && !link.target && !link.hasAttribute("download");
}

// Whether a link leads to a place in the current page. Following it would be another page in the history, which would
// discard what was written.
const isHere = (link) => link.hash && link.href.split("#")[0] === location.href.split("#")[0];

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy], [data-copy-next]");
  if (button) return void copy(button);
  if (event.target.closest("[data-notify]")) return void toggleNotify();
  if (event.target.closest("[data-newer]")) {
    $(".list").scrollTop = 0;
    return void refresh();
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
// A browser has few connections to one server, so a hidden page polls.
let looking;

function look() {
  clearInterval(looking);
  if (document.hidden) looking = setInterval(() => $("main[data-live]") && refresh(), 10000);
  follow();
}

document.addEventListener("visibilitychange", () => {
  look();
  if (document.hidden) return;
  unseen = 0;
  document.title = document.title.replace(/^\(\d+\) /, "");
  $("link[rel=icon]").href = "/static/icon.svg";
});

// Selecting inboxes: all of the page, or a range with Shift from the last box.
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
    scroller().scrollTop = 0;
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

settle();
look();
mark();
showNotify();
countChosen();

// Shortcuts.
function step(by) {
  const links = $$("main [data-row] .row-link").filter(isShown);
  const at = links.indexOf(document.activeElement);
  const open = links.findIndex((link) => link.hasAttribute("aria-current"));
  const from = at >= 0 ? at : open;
  const next = links[from < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(Math.max(from + by, 0), links.length - 1)];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  if (next?.closest(".message-row") && matchMedia("(min-width: 781px)").matches && $(".reader[data-message]")) next.click();
}

// The one search, on the page of all mail.
async function find() {
  const link = $("[data-find]");
  if (link && link.pathname !== location.pathname) await visit(link.href);
  $("[data-search]")?.select();
}

function back() {
  if (!$(".list") || !isShown($(".list"))) return keys.u();
  ($(".message-row [aria-current]") ?? $(".message-row .row-link"))?.focus();
}

const keys = {
  j: () => step(1),
  k: () => step(-1),
  ArrowDown: () => keys.j(),
  ArrowUp: () => keys.k(),
  "/": () => ($("[data-search]") ? $("[data-search]").select() : find()),
  "#": () => $("[data-delete]")?.click(),
  n: () => ($("[data-new] summary") ?? $("[data-new]"))?.click(),
  r: () => $("[data-reply]")?.click(),
  c: () => ($(".letter .copy") ?? $(".list-top .copy") ?? $("main .copy"))?.click(),
  u: () => ($(".reader .up") ?? $("[data-up], .list .up"))?.click(),
  "?": () => $(".shortcuts")?.showModal(),
};

document.addEventListener("keydown", (event) => {
  // The key belongs to the input method, such as Enter that confirms a word.
  if (event.isComposing) return;
  const menus = $$("details.menu[open]");
  const isOver = $("dialog[open], :popover-open");
  if (event.key === "Escape") {
    menus.forEach((menu) => { menu.open = false; $("summary", menu).focus(); });
    if (event.target.matches("[data-search]")) event.target.blur();
    else if (!menus.length && !isOver && !event.target.matches("input, textarea")) back();
    return;
  }
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    return find();
  }
  if (event.key === "ArrowDown" && event.target.matches("[data-search]")) {
    event.preventDefault();
    return $("main [data-row] .row-link")?.focus();
  }
  // What is open over the page, or takes text, has the keys.
  const writes = event.target.matches("input, textarea, select, [contenteditable]");
  if (writes || menus.length || isOver || event.metaKey || event.ctrlKey || event.altKey) return;
  if (event.key.startsWith("Arrow") && !event.target.matches("body, main, .row-link")) return;
  const tab = /^[1-9]$/.test(event.key) ? $$("[data-tab]")[event.key - 1] : undefined;
  const action = tab ? () => tab.click() : Object.hasOwn(keys, event.key) ? keys[event.key] : undefined;
  if (!action) return;
  event.preventDefault();
  action();
});

// A panel that opens over the page takes the focus.
document.addEventListener("toggle", ({ target }) => {
  if (!target.matches("details.menu[open], :popover-open")) return;
  $("input:not([type=hidden]), a, button", $(".pop", target) ?? target)?.focus();
}, true);
