// Close a window's stream while nobody sees the window, open it again when somebody does, and say where it is not live;
// the key / leads to the search, unless the reader does not want it (WCAG 2.1.4).
(() => {
  const root = document.documentElement;
  let source = null;
  htmx.createEventSource = (url) => {
    source = new EventSource(url);
    if (document.hidden) source.close();
    return source;
  };
  document.addEventListener("visibilitychange", () => {
    if (source === null) return;
    if (document.hidden) source.close();
    // The extension opens a new one for one that is closed and tells of an error.
    else if (source.readyState === EventSource.CLOSED) source.dispatchEvent(new Event("error"));
  });
  document.addEventListener("htmx:sseOpen", () => (root.dataset.live = "yes"));
  document.addEventListener("htmx:sseError", () => (root.dataset.live = "no"));
  // What the reader has opened or types stays as it is when the view comes anew.
  Idiomorph.defaults.ignoreActiveValue = true;
  Idiomorph.defaults.callbacks.beforeNodeMorphed = (node) => node.dataset?.kept === undefined;
  Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, node) => !(name === "open" && node.tagName === "DETAILS");
  const slash = document.getElementById("slash");
  if (slash !== null) {
    slash.checked = localStorage.getItem("slash") !== "off";
    slash.addEventListener("change", () => localStorage.setItem("slash", slash.checked ? "on" : "off"));
  }
  document.addEventListener("keydown", (event) => {
    const search = document.getElementById("search");
    if (localStorage.getItem("slash") === "off") return;
    const types = event.target.closest?.("input, select, textarea, [contenteditable]");
    if (event.key !== "/" || event.ctrlKey || event.altKey || event.metaKey || types || search === null) return;
    event.preventDefault();
    search.focus();
    search.select();
  });
})();
