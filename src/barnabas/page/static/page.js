// Ask for a window's view each time that it is due, but not while nobody sees the window, and say where it is not live;
// the key / leads to the search, unless the reader does not want it (WCAG 2.1.4).
(() => {
  const root = document.documentElement;
  // A browser has six connections to a host, for all its windows together: each gives its own back until the next view is
  // due. Otherwise the seventh window would wait for ever.
  htmx.createEventSource = (url) => {
    const views = new EventTarget();
    const every_ms = document.getElementById("view").dataset.every * 1000;
    let source = null;
    let due = 0;
    const open = () => {
      source = new EventSource(url);
      source.addEventListener("view", (event) => {
        root.dataset.live = "yes";
        views.dispatchEvent(new MessageEvent("view", { data: event.data }));
        look(every_ms);
      });
      source.addEventListener("error", () => {
        root.dataset.live = "no";
        look(5000);
      });
    };
    views.close = () => {
      clearTimeout(due);
      source?.close();
    };
    const look = (in_ms) => {
      views.close();
      if (!document.hidden) due = setTimeout(open, in_ms);
    };
    document.addEventListener("visibilitychange", () => look(0));
    look(0);
    return views;
  };
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
