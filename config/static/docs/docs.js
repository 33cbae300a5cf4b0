// The API reference: search, and going from operation to operation without loading the page anew, which
// would forget the token and the place in the list. Without this script all of it are links and forms.
import { Caller } from "./caller.js";
import { tryOut } from "./try.js";

const side = document.getElementById("side");
const list = document.getElementById("list");
const search = document.getElementById("search");
const words = document.getElementById("q");
const caller = new Caller(document.getElementById("caller").content.cloneNode(true));
const wholeList = list.innerHTML;

// --- Search ----------------------------------------------------------------------------------------------------

let asked = 0;

async function find() {
  const number = ++asked;
  if (!words.value.trim()) {
    list.innerHTML = wholeList;
    markCurrent();
    return;
  }
  const found = await fetch(`${search.dataset.found}?${new URLSearchParams({ q: words.value })}`);
  const page = await found.text();
  // an answer that was overtaken by a later one says nothing about the words that stand there now
  if (number === asked && found.ok) list.innerHTML = page;
  markCurrent();
}

let typing;
words.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(find, 100);
});
search.addEventListener("submit", async (event) => {
  event.preventDefault();
  clearTimeout(typing);
  await find();
  list.querySelector(".found a")?.click();
});

const links = () => [...list.querySelectorAll("a, summary")].filter((each) => each.checkVisibility());

side.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const stops = [words, ...links()];
  const here = stops.indexOf(document.activeElement);
  if (here < 0) return;
  stops[Math.min(Math.max(here + step, 0), stops.length - 1)].focus();
  event.preventDefault();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea")) return;
  event.preventDefault();
  if (getComputedStyle(side).display === "none") side.showPopover();
  words.select();
});
for (const each of document.querySelectorAll(".keys")) each.hidden = false;

// --- From page to page -----------------------------------------------------------------------------------------

const inside = (url) => url.origin === location.origin && /^\/docs(\/operations\/[^/]+)?$/.test(url.pathname) && !url.search;
let shown = location.pathname + location.search;

function markCurrent() {
  for (const link of list.querySelectorAll("a")) {
    const here = link.pathname === location.pathname;
    here ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
    if (here && link.closest("details")) link.closest("details").open = true;
  }
  for (const link of document.querySelectorAll("a.sign-in")) {
    link.search = new URLSearchParams({ next: location.pathname });
  }
}

async function show(url) {
  const answer = await fetch(url);
  if (!answer.ok) return location.assign(url);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.title = page.title;
  document.getElementById("page").replaceWith(document.adoptNode(page.getElementById("page")));
  shown = url.pathname + url.search;
  begin();
}

function begin() {
  const form = document.querySelector("#try form");
  if (form) {
    form.querySelector("[data-caller]").append(caller.element);
    caller.offer(form.dataset.accepts.split(" "));
    tryOut(form, caller);
    document.getElementById("try").hidden = false;
  }
  markCurrent();
}

document.addEventListener("click", async (event) => {
  const link = event.target.closest("a");
  if (!link || "whole" in link.dataset || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const url = new URL(link.href);
  if (!inside(url) || (url.pathname === location.pathname && url.hash)) return;
  event.preventDefault();
  history.pushState(null, "", url);
  if (side.matches(":popover-open")) side.hidePopover();
  await show(url);
  if (url.hash) return document.getElementById(url.hash.slice(1))?.scrollIntoView();
  scrollTo(0, 0);
  document.querySelector("h1").focus({ preventScroll: true });
});
addEventListener("popstate", () => {
  const url = new URL(location.href);
  if (url.pathname + url.search !== shown) show(url);
});

begin();
