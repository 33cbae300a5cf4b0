// What the pages do beyond htmx. Each part is for an attribute, so that no page has a script of its own.

// Copy buttons: the text of the element that data-copy names. Without this script they stay hidden.
document.addEventListener("click", async ({ target }) => {
  const button = target.closest("button[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  const status = button.parentElement.querySelector("[role=status]");
  getSelection().selectAllChildren(source);
  try {
    await navigator.clipboard.writeText(source.textContent);
    status.textContent = "Copied";
  } catch {
    // without HTTPS there is no clipboard, and a browser may deny it; selected text is copied the older way
    status.textContent = document.execCommand("copy") ? "Copied" : "Selected: press Ctrl+C";
  }
});

// "Select all" of a table.
document.addEventListener("change", ({ target }) => {
  if (!target.matches("input[data-select-all]")) return;
  for (const box of target.form.querySelectorAll(`input[name="${target.dataset.selectAll}"]`)) box.checked = target.checked;
});

// Forms with data-auto are sent when a choice changes. The button that does the same is for browsers without scripts.
document.addEventListener("change", ({ target }) => {
  const form = target.closest("form[data-auto]");
  if (form) form.requestSubmit();
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

function connected(yes) {
  const notice = document.getElementById("connection-lost");
  if (notice) notice.hidden = yes;
}

for (const name of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) {
  document.addEventListener(name, ({ detail, target }) => {
    if (!target.matches("[data-live]")) return;
    if (detail.xhr.status === 404) target.removeAttribute("hx-get"); // deleted: the last answer said so
    else connected(false);
  });
}
document.addEventListener("htmx:afterRequest", ({ detail }) => {
  if (detail.successful) connected(true);
});
