// Shows the copy buttons, which need this script, and lets each copy the text of the element that it names.
for (const button of document.querySelectorAll("button[data-copy]")) button.hidden = false;

document.addEventListener("click", async ({ target }) => {
  const button = target.closest("button[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  const status = button.nextElementSibling;
  getSelection().selectAllChildren(source);
  try {
    await navigator.clipboard.writeText(source.textContent);
    status.textContent = "Copied";
  } catch {
    // without HTTPS there is no clipboard, and a browser may deny it; what is selected goes the older way
    status.textContent = document.execCommand("copy") ? "Copied" : "Selected: press Ctrl+C";
  }
});
