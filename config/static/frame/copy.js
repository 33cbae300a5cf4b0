// Copy buttons: copies the text of the element that data-copy names.
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
