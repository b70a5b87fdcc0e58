// The conversation in the widget's frame and on the page of its own. The browser keeps a token, and no words.
"use strict";
// Begins behind the first paint of the page, or soon where nothing is painted. What the embedding page says until then is kept.
((begin) => {
  const early = [], keep = (event) => early.push(event);
  let begun = false;
  const start = () => {
    if (begun) return;
    begun = true;
    removeEventListener("message", keep);
    begin(early);
  };
  addEventListener("message", keep);
  requestAnimationFrame(() => setTimeout(start));
  setTimeout(start, 300);
})((early) => {
  const data = JSON.parse(document.getElementById("data").textContent), texts = data.texts;
  const $ = (id) => document.getElementById(id), log = $("log"), state = $("state"), fault = $("fault"), wishes = $("wishes");
  const api = `/widget/${data.bot}`, place = `chatsvc:${data.bot}`, bell = `${place}:n`;
  const HOUR = 3600e3, host = data.framed && parent !== window ? parent : null;
  const say = (key, values = {}) => texts[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const make = (tag, values = {}, ...inner) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(values)) name in made && name !== "role" ? made[name] = value : made.setAttribute(name, value);
    made.append(...inner);
    return made;
  };
  const button = (action, text, onclick, values = {}) => make("button", { type: "button", "data-action": action, onclick, ...values }, text);

  // Storage that a browser may refuse, to read or only to write: then everything stays in memory, which counts first.
  const memory = {};
  const store = {
    get: (key) => { try { return memory[key] ?? localStorage.getItem(key); } catch { return null; } },
    set: (key, value) => {
      memory[key] = value;
      try { value === null ? localStorage.removeItem(key) : localStorage.setItem(key, value); delete memory[key]; } catch { /* in memory */ }
    },
  };

  // Ids of the messages that are shown; `last` is that of the newest, "" before the first.
  const shown = new Set();
  let queue = [], last = "", idle = 0, handling = "bot", operator = null, peer = false, away = data.away;
  let opened = !data.framed, polling = 0, failures = 0, active = Date.now(), typed = 0, busy = false, hold = null;
  // Raised by each start anew: answers to calls of an earlier conversation are dropped.
  let epoch = 0;
  // Until the first news: what it brings was in the log before the page was loaded again.
  let reloaded = Boolean(store.get(place));

  // The embedding page is one of the sites, else the browser would not show the frame; its own origin is all that it is told by.
  let above = data.origin;
  const post = (what) => { if (host && above) host.postMessage(what, above); };

  // Colours: black or white on the chosen one, whichever has more contrast.
  const light = [1, 3, 5].map((at) => parseInt(data.color.slice(at, at + 2), 16) / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  document.documentElement.style.setProperty("--color", data.color);
  document.documentElement.style.setProperty("--on", 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] > 0.179 ? "#000" : "#fff");

  // Calls

  const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(18)), (byte) => byte.toString(36).padStart(2, "0")).join("").slice(0, 36);
  const headers = () => {
    const kept = store.get(place), made = { "Chatsvc-Site": data.site };
    if (kept) made.Authorization = kept.startsWith("?") ? `First ${kept.slice(1)}` : `Visitor ${kept}`;
    return made;
  };
  const call = async (path, options = {}, seconds = 75) => {
    const stop = new AbortController(), timer = setTimeout(() => stop.abort(), seconds * 1000), begun = epoch;
    options.signal?.addEventListener("abort", () => stop.abort());
    try {
      const answer = await fetch(api + path, { ...options, headers: { ...headers(), ...options.headers }, signal: stop.signal, credentials: "omit" });
      const body = await answer.json().catch(() => ({}));
      if (begun !== epoch) throw new Error("anew");
      if (answer.ok) return body;
      throw Object.assign(new Error(body.error), { status: answer.status, code: body.error, wait: body.retry_after });
    } finally { clearTimeout(timer); }
  };

  const take = (news) => {
    const kept = store.get(place);
    if (news.token && kept !== news.token && (!kept || kept.startsWith("?"))) store.set(place, news.token);
    const before = last, past = reloaded;
    reloaded = false;
    for (const message of news.messages) {
      message.spans ||= [message.text];
      if (shown.has(message.id)) continue;
      shown.add(message.id);
      last = message.id;
      if (message.role === "user") {
        const own = queue.find((one) => !one.shown && one.text === message.text);
        if (own) { own.node.remove(); own.shown = true; }
        // The service has it, only its answer was lost: the same key asks for the answer, and the queue moves.
        if (own?.failed) { own.failed = false; setTimeout(work); }
      } else for (const one of queue) one.answered ||= one.shown;
      if (!past) post({ chatsvc: "message", message: { role: message.role, text: message.text, created_at: message.created_at } });
      draw(message);
    }
    if (last !== before) { active = Date.now(); idle = 0; store.set(bell, last); }
    if ("handling" in news) ({ handling, operator, typing: peer, away } = news);
    failures = 0;
    tell();
    const first = queue[0];
    // The reply is here although its own request still waits, on a broken connection perhaps.
    if (first?.answered) first.stop?.abort();
    // The service answers again: what was lost on the way goes once more, under its key.
    if (first?.failed && first.lost && first.tries < 6) setTimeout(() => { if (first.failed) retry(first); });
  };

  // Sending: one after the other, each until the service has answered; a retry has the key of the first try.
  const send = (text) => {
    text = text.trim();
    if (!text) return true;
    if ([...text].length > data.most) return complain(say("too_long", { most: data.most }));
    const one = { text, key: newKey(), tries: 0, node: bubble("user", [text], texts.you) };
    queue.push(one);
    typed = 0;
    choices(null);
    log.append(one.node);
    scroll();
    active = Date.now();
    work();
    return true;
  };
  const work = async () => {
    const one = queue[0];
    if (busy || !one || one.failed) return;
    busy = true;
    one.tries += 1;
    complain("");
    if (!store.get(place)) store.set(place, `?${one.key}`);
    tell();
    const begun = epoch;
    let done = false;
    // The read that is held may be on a broken connection: another one tells soon.
    setTimeout(() => { if (busy && queue[0] === one) poll(); }, 8000);
    try {
      const body = JSON.stringify({ text: one.text, after: last });
      one.stop = new AbortController();
      const headers = { "Content-Type": "application/json", "Idempotency-Key": one.key };
      take(await call("/messages", { method: "POST", body, headers, signal: one.stop.signal }));
      done = true;
    } catch (refusal) {
      if (begun !== epoch) return;
      if (refusal.status === 401 || refusal.status === 410) ended();
      else if (!one.shown) fail(one, refusal);
      else if (one.answered || one.tries > 2) done = true;
      else setTimeout(work, 1000);
    }
    if (begun !== epoch) return;
    busy = false;
    if (done) { queue = queue.filter((other) => other !== one); one.node.remove(); }
    tell();
    if (done) work();
    poll();
  };
  const fail = (one, refusal) => {
    one.failed = true;
    one.lost = !refusal.status || refusal.status > 500;
    const told = { too_many_messages: say("too_many", { seconds: refusal.wait }), too_many_requests: say("too_many", { seconds: refusal.wait }),
      too_many_conversations: texts.full, text_too_long: say("too_long", { most: data.most }) }[refusal.code];
    const closed = refusal.status === 403 || refusal.status === 404;
    one.node.classList.add("failed");
    one.node.querySelector("[data-action=retry]")?.remove();
    if (!closed) one.node.append(button("retry", texts.retry, () => { retry(one); box.focus(); }));
    complain(told || (closed ? texts.refused : texts.failed));
  };
  const retry = (one) => {
    one.failed = false;
    one.node.classList.remove("failed");
    one.node.querySelector("[data-action=retry]")?.remove();
    work();
  };
  const ended = () => {
    const texts_left = queue.map((one) => one.text);
    forget();
    complain(texts.ended);
    box.value = texts_left.join("\n");
  };

  // Reading: a held request while somebody may write, shared by the tabs of one browser, and none where nobody looks.
  const poll = async () => {
    const turn = ++polling;
    hold?.abort();
    if (!store.get(place) || document.hidden) return;
    const lively = handling !== "bot" || opened || Date.now() - active < HOUR / 6;
    if (!lively) { setTimeout(() => { if (turn === polling) poll(); }, 60e3); return; }
    const ask = async () => {
      while (turn === polling && !document.hidden && store.get(place)) {
        try {
          hold = new AbortController();
          const began = Date.now(), typing = Date.now() - typed < 4000 ? "&typing=1" : "";
          take(await call(`/messages?after=${last}${busy || failures ? "" : `&wait=1&known=${handling}-${peer ? 1 : 0}`}${typing}`, { signal: hold.signal }, busy || failures ? 8 : 40));
          // An answer that comes at once without news: a send is under way, the service stops, or it holds enough requests already.
          if (Date.now() - began > 500) idle = 0;
          else await pause(busy ? 1500 : Math.min(5e3, 500 * 2 ** idle++));
        } catch (refusal) {
          if (turn !== polling) return;
          if (refusal.status === 401) { ended(); return; }
          if (refusal.status === 403 || refusal.status === 404) { complain(texts.refused); return; }
          failures += 1;
          tell();
          await pause(refusal.wait ? refusal.wait * 1000 : Math.min(10e3, 500 * 2 ** failures));
        }
      }
    };
    // The tab that holds the lock asks for all; the others hear of news through the storage.
    try {
      const stop = new AbortController();
      hold = stop;
      await navigator.locks.request(place, { signal: stop.signal }, ask);
    } catch (refusal) {
      if (refusal.name !== "AbortError" && turn === polling) await ask();
    }
  };
  const pause = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); wake = resolve; });
  let wake = () => {};
  const refresh = async () => {
    if (!store.get(place)) return;
    try { take(await call(`/messages?after=${last}`, {}, 20)); } catch (refusal) { if (refusal.status === 401) ended(); }
  };

  // Drawing

  // What the service has read of a text's marks: words, or [words, tags, address].
  const formatted = (spans) => spans.map((span) => {
    if (typeof span === "string") return span;
    const [text, tags, address] = span, node = tags.reduce((inner, tag) => make(tag, {}, inner), text);
    return address ? make("a", { href: address, target: "_blank", rel: "noopener noreferrer nofollow" }, node) : node;
  });
  const words = (spans) => spans.map((span) => typeof span === "string" ? span : span[2] && !span[0].includes(span[2]) ? `${span[0]} (${span[2]})` : span[0]).join("");
  // The visitor's own form of times, in the language of the page where the browser has one for it.
  const locale = navigator.languages.find((tag) => tag.startsWith(document.documentElement.lang)) || navigator.language;
  // The time of a message; of one before today its day too.
  const time = (at) => {
    const when = new Date(at), today = when.toDateString() === new Date().toDateString();
    const form = today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" };
    return make("time", { dateTime: at }, when.toLocaleString(locale, form));
  };
  const bubble = (role, spans, who, at = new Date().toISOString()) =>
    make("div", { className: `turn ${role}` }, make("p", { className: "who" },
      ...(role === "operator" ? [make("span", { className: "initial", "aria-hidden": "true" }, [...who][0])] : []), make("b", {}, who), " ", time(at)),
    make("div", { className: "said", dir: "auto" }, ...formatted(spans)));
  const draw = (message) => {
    const who = { user: texts.you, assistant: texts.bot, operator: message.author || texts.team }[message.role];
    const node = bubble(message.role, message.spans, who, message.created_at);
    node.dataset.id = message.id;
    if (message.source) node.append(make("a", { className: "source", href: message.source, target: "_blank", rel: "noopener noreferrer nofollow" }, texts.source));
    if (message.answer) node.append(thumbs(message));
    const first = queue.find((one) => !one.shown);
    first ? log.insertBefore(node, first.node.isConnected ? first.node : null) : log.append(node);
    choices(message);
    scroll();
  };
  const thumbs = (message) => {
    const both = ["up", "down"].map((value) => button(value, texts[value], () => rate(value), { "aria-pressed": message.feedback === value }));
    const rate = async (value) => {
      const wanted = message.feedback === value ? null : value;
      try {
        await call("/feedback", { method: "POST", body: JSON.stringify({ message: message.id, value: wanted }), headers: { "Content-Type": "application/json" } }, 20);
        message.feedback = wanted;
        for (const one of both) one.setAttribute("aria-pressed", one.dataset.action === wanted);
      } catch { complain(texts.failed); }
    };
    return make("div", { className: "thumbs" }, ...both);
  };
  // The answers that the newest message offers.
  const choices = (message) => {
    log.querySelector(".choices")?.remove();
    if (message?.choices) log.append(group(texts.options, message.choices));
  };
  const group = (name, options) =>
    make("div", { className: "choices", role: "group", "aria-label": name }, ...options.map((option) => make("button", { type: "button", "data-action": "choose", dir: "auto", onclick: () => { send(option); box.focus(); } }, option)));
  const scroll = () => { log.scrollTop = log.scrollHeight; low = true; };
  // Stays at its end when a line under it appears or the box grows.
  let low = true;
  log.addEventListener("scroll", () => { low = log.scrollHeight - log.scrollTop - log.clientHeight < 40; });
  const complain = (text) => { fault.textContent = text; };
  const tell = () => {
    const bot = busy && handling === "bot";
    wishes.hidden = handling !== "bot" || away;
    const text = failures > (busy ? 0 : 1) || !navigator.onLine ? texts.offline : peer ? (operator ? say("person", { name: operator }) : texts.someone)
      : bot ? texts.typing : away ? texts.away : handling === "waiting" ? texts.waiting : handling === "operator" && operator ? say("with", { name: operator }) : data.closed || texts.ready;
    if (state.dataset.text === text) return;
    state.dataset.text = text;
    state.replaceChildren(...(text && (peer || bot) ? [make("span", { className: "dots", "aria-hidden": "true" }, make("i"), make("i"), make("i")), text] : [text]));
  };
  const begin = () => {
    log.replaceChildren();
    log.append(bubble("assistant", data.greeting, texts.bot));
    if (data.suggestions.length && !store.get(place)) log.append(group(texts.suggested, data.suggestions));
  };
  const forget = () => {
    epoch += 1;
    reloaded = false;
    polling += 1;
    busy = false;
    hold?.abort();
    store.set(place, null);
    store.set(bell, null);
    [queue, last, handling, operator, peer] = [[], "", "bot", null, false];
    shown.clear();
    complain("");
    begin();
    tell();
  };
  // Another tab has started anew: so does this one. What was not sent from here yet goes back into the box.
  const restart = () => {
    const left = queue.filter((one, at) => one.failed || at || !busy).map((one) => one.text);
    forget();
    box.value = [...left, box.value].filter(Boolean).join("\n");
    grow();
  };
  const download = async () => {
    // The log has the newest messages alone: the whole is read backwards, page by page.
    const whole = [];
    try {
      for (let before = last && "&"; before;) {
        const page = (await call(`/messages?${before}`, {}, 20)).messages;
        whole.unshift(...page.map((message) => ({ spans: [message.text], ...message })));
        before = page.length && `before=${page[0].id}`;
      }
    } catch { return complain(texts.unread); }
    const who = { user: texts.you, assistant: texts.bot, operator: texts.team };
    const lines = whole.map((message) => `${message.created_at} ${message.author || who[message.role]}:\n${words(message.spans)}\n`);
    const address = URL.createObjectURL(new Blob([`${document.title}\n\n`, lines.join("\n")], { type: "text/plain;charset=utf-8" }));
    make("a", { href: address, download: "chat.txt" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10e3);
  };

  // The page

  wishes.append(...data.wishes.map((text) => button("wish", text, () => { send(text); box.focus(); })));
  const box = make("textarea", { rows: 1, placeholder: texts.placeholder, dir: "auto", enterKeyHint: "send", "aria-label": texts.write });
  const submit = () => { if (send(box.value)) box.value = ""; grow(); box.focus(); };
  const grow = () => { box.style.height = "auto"; box.style.height = `${box.scrollHeight + 2}px`; };
  box.addEventListener("input", () => {
    grow();
    if (handling !== "bot" && Date.now() - typed > 3000) {
      typed = Date.now();
      call(`/messages?after=${last}&typing=1`, {}, 20).then(take, () => {});
    }
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); submit(); }
  });
  const shut = () => post({ chatsvc: "close" });
  $("write").append(box, button("send", texts.send, submit));
  const menu = make("details", {}, make("summary", { "aria-label": texts.more, title: texts.more }, "⋯"), make("div", {},
    button("download", texts.download, () => { menu.open = false; download(); }),
    button("anew", texts.anew, () => { menu.open = false; forget(); box.focus(); })));
  $("tools").append(menu);
  if (host) $("tools").append(button("close", "✕", shut, { "aria-label": texts.close, title: texts.close }));
  document.addEventListener("click", (event) => { if (!menu.contains(event.target)) menu.open = false; });
  log.setAttribute("aria-label", texts.log);
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    if (!menu.open) shut();
    menu.open = false;
  });
  const hear = (event) => {
    if (!host || event.source !== host || !event.data) return;
    above = event.origin;
    if (event.data.chatsvc === "open") { opened = true; active = Date.now(); requestAnimationFrame(() => { box.focus(); scroll(); }); poll(); }
    if (event.data.chatsvc === "close") opened = false;
  };
  addEventListener("message", hear);
  addEventListener("storage", (event) => {
    if (event.key === place) {
      if (!event.newValue) restart(); else if (!event.newValue.startsWith("?")) { log.querySelector(".choices")?.remove(); refresh().then(poll); }
    }
    if (event.key === bell && event.newValue && !shown.has(event.newValue)) refresh();
  });
  document.addEventListener("visibilitychange", () => { poll(); if (!document.hidden) refresh(); });
  addEventListener("online", () => { failures = 0; wake(); for (const one of queue) if (one.failed) retry(one); poll(); });
  addEventListener("offline", tell);
  new ResizeObserver(() => { if (low) scroll(); }).observe(log);
  begin();
  tell();
  refresh().then(() => {
    // What was there before is not announced.
    setTimeout(() => log.setAttribute("aria-live", "polite"), 100);
    poll();
  });
  if (!host) box.focus();
  early.forEach(hear);
});
