// Progressive additions to the dashboard: every task can be done without this script.
"use strict";

(() => {
  const words = document.body.dataset;

  // Parts that refresh themselves: <section id="..." data-refresh="URL">. Every 3 s while something changes, else ever slower up to
  // once a minute, and not for longer than half an hour without a change; with data-steady always every 2 s. A fault is a retry
  // after a longer pause. Never while a field of the part has the focus, and (but with data-always) never in a hidden tab.
  const FAST = 3000, STEADY = 2000, SLOW = 60000, RETRY = 20000, END = 1800000;
  for (const part of document.querySelectorAll("[data-refresh][id]")) keepFresh(part.id);

  function keepFresh(id) {
    let pause = FAST, changed = Date.now(), seen = contentOf(document.getElementById(id));

    // Without the words of times such as "5 min", which change by themselves.
    function contentOf(part) {
      const copy = part.cloneNode(true);
      for (const time of copy.querySelectorAll("time[title]")) time.textContent = "";
      return copy.innerHTML;
    }

    function isOver(part) { return Date.now() - changed > END && !part.hasAttribute("data-steady"); }

    function isBusy(part) {
      return (document.hidden && !part.hasAttribute("data-always")) || (part.contains(document.activeElement) && document.activeElement.matches("input, textarea, select"));
    }

    async function refresh(part) {
      // The header keeps a session from living on in a tab that nobody uses; once it has ended, the page leads to the sign-in.
      const answer = await fetch(part.dataset.refresh, { credentials: "same-origin", redirect: "manual", headers: { "Chatsvc-Refresh": words.account ?? "" } });
      if (answer.type === "opaqueredirect" && !hasTypedText()) location.reload();
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(id);
      if (!fresh || isBusy(part)) return;
      part.toggleAttribute("data-steady", fresh.hasAttribute("data-steady"));
      const content = contentOf(fresh);
      if (part.innerHTML !== fresh.innerHTML) replace(part, fresh);
      if (content === seen) {
        pause = Math.min(SLOW, pause * 1.5);
        return;
      }
      seen = content;
      pause = FAST;
      changed = Date.now();
    }

    async function run() {
      const part = document.getElementById(id);
      if (!part || isOver(part)) return;
      let next = FAST;
      if (!isBusy(part)) {
        try {
          await refresh(part);
          if (part.hasAttribute("data-steady")) pause = STEADY;
        } catch {
          pause = Math.min(part.hasAttribute("data-steady") ? RETRY : SLOW, pause * 1.5);
        }
        next = pause;
      }
      setTimeout(run, next);
    }

    if (document.getElementById(id).hasAttribute("data-steady")) pause = STEADY;
    setTimeout(run, pause);
  }

  // Replaces the content of a part. Keeps the focus, and what is unfolded, by the id of the record around it.
  function replace(part, fresh) {
    const rowOf = (element) => element.closest("[data-id], [id]");
    const keyOf = (row) => row.id ? `#${CSS.escape(row.id)}` : `[data-id="${CSS.escape(row.dataset.id)}"]`;
    const inRow = (key, tag) => [...(document.querySelector(key)?.querySelectorAll(tag) ?? [])];
    const locate = (element) => {
      if (element.id) return [`#${CSS.escape(element.id)}`, null, 0];
      const key = keyOf(rowOf(element)), tag = element.localName;
      return [key, tag, inRow(key, tag).indexOf(element)];
    };
    const find = ([key, tag, index]) => tag ? inRow(key, tag)[index] : document.querySelector(key);
    const active = document.activeElement;
    const focused = active !== part && part.contains(active) ? locate(active) : null;
    const unfolded = [...part.querySelectorAll("details[open]")].map(locate);
    const chosen = [...part.querySelectorAll("input[type=checkbox][form]:checked")].map((box) => box.value);
    part.replaceChildren(...fresh.childNodes);
    for (const fold of unfolded) find(fold)?.setAttribute("open", "");
    for (const box of part.querySelectorAll("input[type=checkbox][form]")) box.checked = chosen.includes(box.value);
    if (focused) find(focused)?.focus({ preventScroll: true });
    part.dispatchEvent(new Event("refreshed"));
  }

  function hasTypedText() {
    return [...document.querySelectorAll("input, textarea")].some((field) => field.value !== field.defaultValue);
  }

  // Settings kept in this browser; null where it keeps none.
  function setting(name, value) {
    try {
      if (value) localStorage.setItem(name, value);
      return localStorage.getItem(name);
    } catch {
      return null;
    }
  }

  // A button that switches a setting; "off" is kept, anything else is on.
  function switchOf(element, name) {
    const button = element.querySelector("button");
    const show = () => { button.textContent = setting(name) === "off" ? button.dataset.on : button.dataset.off; };
    button.addEventListener("click", () => { setting(name, setting(name) === "off" ? "on" : "off"); show(); });
    show();
    element.hidden = false;
  }

  // Visitors who wait: their number in the title, and a short sound for each new one.
  const waiting = document.getElementById("waiting");
  if (waiting) {
    const sound = document.querySelector("[data-sound]");
    const ids = () => [...waiting.querySelectorAll("[data-id]")].map((row) => row.dataset.id);
    let known = ids(), audio = null;
    // Browsers allow sound after a gesture only.
    const allow = () => {
      audio ??= new AudioContext();
      audio.resume();
    };
    const beep = () => {
      if (!audio || !sound || setting("sound") === "off") return;
      const tone = audio.createOscillator(), volume = audio.createGain(), now = audio.currentTime;
      tone.frequency.value = 880;
      volume.gain.setValueAtTime(0.15, now);
      volume.gain.exponentialRampToValueAtTime(0.001, now + 0.4);
      tone.connect(volume).connect(audio.destination);
      tone.start(now);
      tone.stop(now + 0.4);
    };
    // A notice of the browser while the page is out of sight, once it is permitted. Phones take none from a page.
    const notice = (id) => {
      if (window.Notification?.permission !== "granted") return;
      const link = waiting.querySelector(`[data-id="${CSS.escape(id)}"] a`);
      try {
        const shown = new Notification(link.textContent, { body: waiting.querySelector("h2").textContent, tag: id });
        shown.addEventListener("click", () => { window.focus(); location.assign(link.href); });
      } catch { /* the sound and the title tell as well */ }
    };
    const ask = document.querySelector("[data-notices]");
    if (ask && window.Notification?.permission === "default") {
      ask.hidden = false;
      ask.querySelector("button").addEventListener("click", async () => {
        await Notification.requestPermission();
        ask.hidden = true;
      });
    }
    waiting.addEventListener("refreshed", () => {
      const present = ids(), count = present.length + (waiting.querySelector("[data-cut]") ? "+" : "");
      document.title = (present.length ? `(${count}) ` : "") + document.title.replace(/^\(\d+\+?\) /, "");
      const fresh = present.filter((id) => !known.includes(id));
      if (fresh.length) beep();
      if (document.hidden) fresh.forEach(notice);
      known = present;
    });
    if (sound && window.AudioContext) {
      for (const gesture of ["pointerdown", "keydown"]) document.addEventListener(gesture, allow, { once: true });
      switchOf(sound, "sound");
    }
  }

  // A reply box that tells the visitor that somebody is typing: <textarea data-typing="URL">. At most once in 3 s.
  for (const box of document.querySelectorAll("textarea[data-typing]")) {
    let sentAt = 0;
    box.addEventListener("input", () => {
      if (Date.now() - sentAt < FAST) return;
      sentAt = Date.now();
      fetch(box.dataset.typing, { method: "POST", credentials: "same-origin", redirect: "error" }).catch(() => {});
    });
  }

  // Ctrl+Enter sends: <textarea data-send> with the button data-main of its form.
  for (const box of document.querySelectorAll("textarea[data-send]")) {
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      const button = box.form.querySelector("[data-main]");
      if (!button.disabled) box.form.requestSubmit(button);
    });
  }

  // Saved replies in a box: <textarea data-saved="HINT"> beside <select name="saved">. A word that begins with / opens the list.
  for (const box of document.querySelectorAll("textarea[data-saved]")) {
    const select = box.form.elements.saved;
    if (!select) continue;
    const list = document.createElement("ul"), status = document.createElement("p");
    let active = 0, matches = [];
    list.id = "saved-replies";
    list.className = "options";
    list.hidden = true;
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", select.labels[0].textContent.trim());
    status.className = "unseen";
    status.setAttribute("role", "status");
    box.closest(".write").append(list, status);
    box.setAttribute("aria-controls", list.id);
    box.setAttribute("aria-autocomplete", "list");

    // The word before the cursor, if it begins with /.
    const word = () => box.value.slice(0, box.selectionStart).match(/(?:^|\s)(\/[^\s/]*)$/)?.[1];

    function close() {
      list.hidden = true;
      status.textContent = "";
      box.removeAttribute("aria-activedescendant");
    }

    function choose(index) {
      active = (index + matches.length) % matches.length;
      [...list.children].forEach((item, number) => item.setAttribute("aria-selected", String(number === active)));
      list.children[active].scrollIntoView({ block: "nearest" });
      box.setAttribute("aria-activedescendant", list.children[active].id);
    }

    function open() {
      const typed = word();
      const words = (text) => text.toLocaleLowerCase(document.documentElement.lang);
      matches = typed === undefined ? [] : [...select.options].filter((option) => option.value && words(option.value).includes(words(typed.slice(1))));
      if (!matches.length) return close();
      list.replaceChildren(...matches.map((option, number) => {
        const item = document.createElement("li"), text = document.createElement("small");
        item.id = `saved-${number}`;
        item.setAttribute("role", "option");
        text.textContent = option.dataset.text;
        item.append(option.value, text);
        item.addEventListener("pointerdown", (event) => { event.preventDefault(); insert(option, word()); });
        return item;
      }));
      list.hidden = false;
      status.textContent = box.dataset.saved;
      choose(0);
    }

    // Writes a reply in place of a word before the cursor, or at the end of the text.
    function insert(option, typed) {
      const end = typed === undefined ? box.value.length : box.selectionStart, start = end - (typed?.length ?? 0);
      const gap = typed === undefined && box.value.trim() ? "\n\n" : "";
      box.setRangeText(gap + option.dataset.text, start, end, "end");
      close();
      box.focus();
      box.dispatchEvent(new Event("input"));
    }

    box.addEventListener("input", open);
    box.addEventListener("blur", close);
    box.addEventListener("keydown", (event) => {
      if (list.hidden || event.ctrlKey || event.metaKey) return;
      const act = { ArrowDown: () => choose(active + 1), ArrowUp: () => choose(active - 1), Enter: () => insert(matches[active], word()), Tab: () => insert(matches[active], word()), Escape: close }[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    });
    box.form.querySelector("[data-insert]").addEventListener("click", (event) => {
      event.preventDefault();
      const option = select.selectedOptions[0];
      if (option.value) insert(option);
      select.value = "";
    });
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

  // The widget beside the fields of its looks: <figure data-widget-preview>.
  for (const preview of document.querySelectorAll("[data-widget-preview]")) {
    const fields = preview.parentElement.querySelector("form").elements;
    fields.title.addEventListener("input", () => {
      const title = preview.querySelector("[data-title]");
      title.textContent = fields.title.value.trim() || title.dataset.name;
    });
    fields.color.addEventListener("input", () => {
      const light = [1, 3, 5].map((at) => parseInt(fields.color.value.slice(at, at + 2), 16) / 255)
        .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
      const isDark = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] <= 0.179;
      for (const area of preview.querySelectorAll("[data-color]")) area.setAttribute("fill", fields.color.value);
      for (const part of preview.querySelectorAll(".on-dark, .on-light")) {
        part.classList.toggle("on-dark", isDark);
        part.classList.toggle("on-light", !isDark);
      }
    });
    fields.launcher.addEventListener("input", () => { preview.querySelector("[data-launcher]").textContent = fields.launcher.value; });
    fields.position.addEventListener("change", () => { preview.querySelector("[data-position]").dataset.position = fields.position.value; });
  }

  // A conversation on trial goes on without a new page: <section id="..." data-talk>.
  document.addEventListener("submit", async (event) => {
    const talk = event.target.closest("[data-talk]"), form = event.target, button = event.submitter;
    if (!talk) return;
    const fields = new URLSearchParams(new FormData(form, button));
    event.preventDefault();
    try {
      const answer = await fetch(form.action, { method: "POST", body: fields, credentials: "same-origin" });
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(talk.id);
      if (!answer.ok || !fresh) throw new Error(`status ${answer.status}`);
      for (const field of fresh.querySelectorAll("[autofocus]")) field.removeAttribute("autofocus");
      talk.replaceChildren(...fresh.childNodes);
      history.replaceState(null, "", answer.url);
      talk.querySelector("input[name=text]").focus();
    } catch {
      // The page itself says what is wrong.
      delete talk.dataset.talk;
      if (button) button.disabled = false;
      form.requestSubmit(button);
    }
  });

  // A password can be shown while it is typed.
  for (const field of document.querySelectorAll("input[type=password]")) {
    const label = document.createElement("label"), box = document.createElement("input"), text = document.createElement("span");
    label.className = "check reveal";
    box.type = "checkbox";
    text.textContent = words.reveal;
    box.addEventListener("change", () => { field.type = box.checked ? "text" : "password"; });
    field.form.addEventListener("submit", () => { field.type = "password"; });
    label.append(box, text);
    field.closest("div.field, label.field").after(label);
  }

  // A new bot is where its owner is: time zone and country of the browser, unless another bot says better.
  const guess = document.querySelector("form[data-place]");
  if (guess) {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone, country = new Intl.Locale(navigator.language).maximize().region;
    const { timezone: zones, country: countries } = guess.elements;
    if ([...document.querySelectorAll("#zones option")].some((option) => option.value === zone)) zones.value = zones.defaultValue = zone;
    if ([...countries.options].some((option) => option.value === country)) countries.value = country;
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
    switchOf(hint, "shortcuts");
    document.addEventListener("keydown", (event) => {
      if (setting("shortcuts") === "off" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
      const links = [...(hint.closest(".talks") ?? document).querySelectorAll("main [data-id]")].flatMap((row) => row.querySelector("summary, a[href^='/conversations/']") ?? []);
      // After a form was sent, the list goes on at its record.
      const here = document.activeElement === document.body ? document.querySelector(":target") : document.activeElement;
      const index = links.findIndex((link) => link.closest("[data-id]").contains(here));
      const target = { j: links[index + 1], k: links[Math.max(index - 1, 0)], "/": document.querySelector("input[type=search]") }[event.key];
      if (!target) return;
      event.preventDefault();
      target.focus();
    });
  }

})();
