// Sets the colours that were chosen on an earlier page, before anything is drawn.
try {
  document.documentElement.dataset.colours = localStorage.getItem("colours") ?? "";
} catch {
  // a browser that keeps nothing has the colours of its system
}
