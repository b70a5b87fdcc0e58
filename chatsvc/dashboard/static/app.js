// Progressive additions to the dashboard: every task can be done without this script.
"use strict";

(() => {
  const words = document.body.dataset;

  // Parts that refresh themselves: <section id="..." data-refresh="URL">. Every 3 s while something changes, else ever slower up to
  // once a minute (with data-steady always every 3 s); never in a hidden tab, never while something is being typed in the part, and
  // not for longer than half an hour without a change.
  const FAST = 3000, SLOW = 60000, END = 1800000;
  for (const part of document.querySelectorAll("[data-refresh][id]")) keepFresh(part.id, FAST, Date.now(), part.innerHTML);

  function keepFresh(id, pause, changed, seen) {
    setTimeout(async () => {
      const part = document.getElementById(id);
      if (!part || Date.now() - changed > END) return;
      if (document.hidden || part.contains(document.activeElement)) {
        keepFresh(id, FAST, changed, seen);
        return;
      }
      try {
        const answer = await fetch(part.dataset.refresh, { credentials: "same-origin", redirect: "error" });
        if (!answer.ok) return;
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(id);
        if (fresh) part.toggleAttribute("data-steady", fresh.hasAttribute("data-steady"));
        if (fresh && fresh.innerHTML !== seen) {
          seen = fresh.innerHTML;
          part.replaceChildren(...fresh.childNodes);
          pause = FAST;
          changed = Date.now();
        } else if (!part.hasAttribute("data-steady")) {
          pause = Math.min(SLOW, pause * 1.5);
        }
      } catch {
        pause = SLOW;
      }
      keepFresh(id, pause, changed, seen);
    }, pause);
  }

  // Copy buttons beside texts and secrets.
  for (const element of document.querySelectorAll("[data-copyable]")) {
    if (!navigator.clipboard) break;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet copy-button";
    button.textContent = words.copy;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(element.textContent);
      button.textContent = words.copied;
      setTimeout(() => { button.textContent = words.copy; }, 2000);
    });
    element.after(button);
  }

  // A select that acts at once; without the script its button does.
  for (const select of document.querySelectorAll("select[data-submit]")) {
    const button = select.form.querySelector("button");
    if (button) button.hidden = true;
    select.addEventListener("change", () => select.form.requestSubmit());
  }

  // A search beside an editor: <input data-live="URL?q=" data-into="id">.
  for (const input of document.querySelectorAll("input[data-live]")) {
    let waiting, latest = 0;
    const search = async (words) => {
      const mine = ++latest;
      try {
        const answer = await fetch(input.dataset.live + encodeURIComponent(words), { credentials: "same-origin", redirect: "error" });
        if (!answer.ok || mine !== latest) return;
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(input.dataset.into);
        const part = document.getElementById(input.dataset.into);
        if (fresh && part) part.replaceChildren(...fresh.childNodes);
      } catch { /* the button searches as well */ }
    };
    input.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => search(input.value), 250);
    });
    const question = input.form.elements.question;
    if (question) question.addEventListener("change", () => { input.value = question.value; search(input.value); });
  }

  // A question before a form is sent: <form data-confirm="...">.
  document.addEventListener("submit", (event) => {
    const question = event.target.dataset.confirm;
    if (question && !window.confirm(question)) {
      event.preventDefault();
      return;
    }
    // A second click must not send a form twice.
    const button = event.submitter;
    if (button && event.target.method === "post") setTimeout(() => { button.disabled = true; }, 0);
  });

  // Secrets leave the page with the visit, also from the cache of the back button.
  window.addEventListener("pagehide", () => {
    for (const element of document.querySelectorAll("[data-secret]")) element.textContent = "";
  });
  window.addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    for (const button of document.querySelectorAll("button:disabled")) button.disabled = false;
    if (document.querySelector("[data-secret]")) location.reload();
  });

  // Keys of lists: j and k go to the next and the previous record, / to the search. They can be switched off in this browser.
  const hint = document.querySelector("[data-shortcuts]");
  if (hint) {
    const button = hint.querySelector("button");
    const kept = (value) => {
      try {
        if (value) localStorage.setItem("shortcuts", value);
        return localStorage.getItem("shortcuts");
      } catch {
        return null;
      }
    };
    const show = () => { button.textContent = kept() === "off" ? button.dataset.on : button.dataset.off; };
    button.addEventListener("click", () => { kept(kept() === "off" ? "on" : "off"); show(); });
    show();
    hint.hidden = false;
    document.addEventListener("keydown", (event) => {
      if (kept() === "off" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
      const links = [...document.querySelectorAll("main [data-id]")].flatMap((row) => row.querySelector("a[href^='/conversations/']") ?? []);
      const at = links.findIndex((link) => link.closest("[data-id]").contains(document.activeElement));
      const target = { j: links[at + 1], k: links[Math.max(at - 1, 0)], "/": document.querySelector("input[type=search]") }[event.key];
      if (!target) return;
      event.preventDefault();
      target.focus();
    });
  }

})();
