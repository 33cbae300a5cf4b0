// Sets the chosen theme before anything is drawn, or that of the system. Bootstrap knows it by an attribute.
const dark = matchMedia("(prefers-color-scheme: dark)");

function chosen() {
  try {
    return localStorage.getItem("colours") ?? "";
  } catch {
    return ""; // a browser that stores nothing has the theme of its system
  }
}

function show() {
  document.documentElement.dataset.bsTheme = chosen() || (dark.matches ? "dark" : "light");
}

show();
dark.addEventListener("change", show);
addEventListener("storage", show); // chosen in another tab

document.addEventListener("change", ({ target }) => {
  if (target.id !== "colours") return;
  try {
    localStorage.setItem("colours", target.value);
  } finally {
    document.documentElement.dataset.bsTheme = target.value || (dark.matches ? "dark" : "light");
  }
});
document.addEventListener("DOMContentLoaded", () => {
  const select = document.getElementById("colours");
  if (!select) return;
  select.value = chosen();
  select.closest("[hidden]").hidden = false; // needs this script
});
