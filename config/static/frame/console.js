// Behaviour of the pages besides htmx. Each part is for an attribute, so that no page has a script of its own.

// "Select all" of a table. Without this script the box stays hidden.
for (const box of document.querySelectorAll("input[data-select-all]")) box.hidden = false;
document.addEventListener("change", ({ target }) => {
  if (!target.matches("input[data-select-all]")) return;
  for (const box of target.form.querySelectorAll(`input[name="${target.dataset.selectAll}"]`)) box.checked = target.checked;
});

// Forms with data-auto are sent when a choice changes. The button that does the same is for browsers without scripts.
document.addEventListener("change", ({ target }) => {
  const form = target.closest("form[data-auto]");
  if (form) form.requestSubmit();
});

// While the answer to a form is awaited, a second click does not send the form again. The wait is bounded: nothing tells
// a page that the user has stopped the request.
const LONGEST_WAIT = 10_000;
const sentAt = new WeakMap();
document.addEventListener("submit", event => {
  const { target: form, timeStamp } = event;
  if (form.method !== "post" || event.defaultPrevented) return;
  if (timeStamp - sentAt.get(form) < LONGEST_WAIT) event.preventDefault();
  else sentAt.set(form, timeStamp);
});
addEventListener("pageshow", () => {
  for (const form of document.forms) sentAt.delete(form);
});

// After the back button, browsers restore the choices with which a page was left. Filters show those of the address.
addEventListener("pageshow", ({ persisted }) => {
  const [{ type }] = performance.getEntriesByType("navigation");
  if (!persisted && type !== "back_forward" && type !== "reload") return;
  for (const form of document.querySelectorAll("form[data-auto]")) form.reset();
});

// On a phone, filters are folded up while none is set.
if (!matchMedia("(min-width: 48rem)").matches) document.querySelector("details[data-folds]")?.removeAttribute("open");

// Filters that are not set stay out of the address.
document.addEventListener("formdata", ({ target, formData }) => {
  if (target.method !== "get") return;
  for (const [name, value] of [...formData]) if (value === "") formData.delete(name);
});

// Menus close when another one opens, with Escape, and when the pointer goes elsewhere.
document.addEventListener("click", ({ target }) => {
  for (const menu of document.querySelectorAll("details.dropdown[open]")) {
    if (!menu.contains(target)) menu.open = false;
  }
});
document.addEventListener("keydown", event => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("details.dropdown[open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

// Parts that update themselves (data-live): a page that nobody sees asks for nothing, nor does a part with an open
// menu, which would close. A lost connection is shown until an answer comes again. A session that ended leads to the
// sign-in page.
document.addEventListener("htmx:beforeRequest", event => {
  if (!event.target.matches("[data-live]")) return;
  if (document.hidden || event.target.querySelector("details.dropdown[open]")) event.preventDefault();
});

// A part with the reasons of a field (data-problems-of, with the field's id) updates itself while the field is typed. The
// field stays, and looks right or wrong as the part says.
document.addEventListener("htmx:load", ({ detail: { elt } }) => {
  const field = document.getElementById(elt.dataset.problemsOf);
  if (!field) return;
  const wrong = elt.querySelector(".reason") !== null;
  field.classList.toggle("is-invalid", wrong);
  if (wrong) field.setAttribute("aria-invalid", "true");
  else field.removeAttribute("aria-invalid");
});

// A confirmation says that a job has begun, so it leaves the page when no job is under way. It stays long enough to be
// read. The job may be over when the page is made.
const READING_TIME = 5_000;
const shownAt = performance.now();
function clearConfirmations() {
  const clear = () => document.querySelectorAll("[data-confirmation]").forEach(each => each.remove());
  setTimeout(clear, Math.max(0, shownAt + READING_TIME - performance.now()));
}
if (document.querySelector("[data-settled]")) clearConfirmations();
document.addEventListener("htmx:load", ({ detail: { elt } }) => {
  if (elt.matches("[data-settled]")) clearConfirmations();
});

function connected(yes) {
  const notice = document.getElementById("connection-lost");
  if (notice) notice.hidden = yes;
}

// Forms that open in a table (data-in-place): if the answer is an error, the browser opens the page with the same
// form, which shows the reason. A form is sent again only if the first request surely changed nothing.
const MAYBE_DONE = 500;
const TOO_MANY = 429;
document.addEventListener("htmx:responseError", ({ detail, target }) => {
  if (!target.closest("[data-in-place]")) return;
  const { status } = detail.xhr;
  if (!target.href && status < MAYBE_DONE && status !== TOO_MANY) target.submit();
  else location.assign(target.href || target.action);
});

for (const name of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) {
  document.addEventListener(name, ({ detail, target }) => {
    if (name !== "htmx:responseError" && target.closest("[data-in-place]")) connected(false);
    if (!target.matches("[data-live]")) return;
    if (detail.xhr.status === 404) target.removeAttribute("hx-get"); // deleted: the last answer said so
    else connected(false);
  });
}
document.addEventListener("htmx:afterRequest", ({ detail }) => {
  if (detail.successful) connected(true);
});
