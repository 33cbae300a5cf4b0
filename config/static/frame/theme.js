// Sets the chosen theme before anything is drawn. Without a choice, the style sheets follow the system.
function stored() {
  try {
    return localStorage.getItem("colours") ?? "";
  } catch {
    return ""; // a browser that stores nothing has the theme of its system
  }
}

document.documentElement.dataset.colours = stored();
addEventListener("storage", () => document.documentElement.dataset.colours = stored()); // chosen in another tab

document.addEventListener("change", ({ target }) => {
  if (target.id !== "colours") return;
  document.documentElement.dataset.colours = target.value;
  try {
    localStorage.setItem("colours", target.value);
  } catch {
    // the choice holds for this page
  }
});
document.addEventListener("DOMContentLoaded", () => {
  const select = document.getElementById("colours");
  if (!select) return;
  select.value = stored();
  select.closest("[hidden]").hidden = false; // needs this script
});
