// Loader of the chat widget: a button in a closed shadow root, and a frame that is made at the first click.
(() => {
  "use strict";
  // A module has no current script.
  const script = document.currentScript || document.querySelector("script[src*='/widget.js']");
  if (!script || window.chatsvc) return;
  // Tag managers leave out the attributes of the script, so its address may have them.
  const { origin: base, searchParams: query } = new URL(script.src), root = document.documentElement;
  const option = (name) => script.dataset[name] ?? query.get(name);
  const bot = option("bot"), at = `${base}/widget/${encodeURIComponent(bot)}`;
  if (!bot) return console.error('chatsvc: no bot is named. Write data-bot="ID" in the script element, or ?bot=ID behind widget.js.');
  const create = (tag) => document.createElement(tag), listeners = [];
  const host = create("div"), shadow = host.attachShadow({ mode: "closed" }), button = create("button");
  let look, frame, loaded, opened = false;

  // Whether the page is dark: by the colour behind its words, at last by that of the browser's own canvas, which the host has.
  const isDark = () => {
    for (const part of [document.body, root, host]) {
      const [red, green, blue, alpha = 1] = getComputedStyle(part).backgroundColor.match(/[\d.]+/g) || [];
      if (alpha > 0.5) return red * 3 + green * 6 + +blue < 1280;
    }
  };
  const dress = () => {
    try {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(look.style);
      shadow.adoptedStyleSheets = [sheet];
    } catch {
      const style = create("style");
      style.nonce = script.nonce;
      style.textContent = look.style;
      shadow.append(style);
    }
    button.type = "button";
    button.textContent = look.launcher;
    label();
    shadow.append(button);
    // Beside the body, which Turbo and kin replace.
    root.append(host);
    if (opened || (option("open") ?? "false") !== "false") open();
  };
  const label = () => {
    button.ariaExpanded = opened;
    button.ariaLabel = (look.launcher && `${look.launcher}: `) + (opened ? look.close : look.open);
  };
  const tell = (what) => loaded && frame.contentWindow.postMessage({ chatsvc: what }, base);
  // A phone's keyboard covers the page without making it smaller; only the visual viewport tells.
  const fit = () => {
    const seen = window.visualViewport, full = innerWidth < 640 && seen;
    frame.style.height = full ? `${seen.height}px` : "";
    frame.style.top = full ? `${seen.offsetTop}px` : "";
  };
  const open = () => {
    opened = true;
    if (!look) return;
    if (!frame) {
      frame = create("iframe");
      const theme = look.theme || (isDark() ? "dark" : "light");
      frame.style.colorScheme = theme;
      frame.title = look.title;
      frame.referrerPolicy = "strict-origin";
      frame.src = `${at}?${look.query}&theme=${theme}`;
      frame.onload = () => { loaded = 1; tell(opened ? "open" : "close"); };
      shadow.append(frame);
      window.visualViewport?.addEventListener("resize", fit);
      window.visualViewport?.addEventListener("scroll", fit);
    } else tell("open");
    frame.hidden = false;
    frame.focus();
    delete button.dataset.new;
    fit();
    label();
  };
  const close = () => {
    if (frame && opened) {
      frame.hidden = true;
      tell("close");
      button.focus();
    }
    opened = false;
    if (look) label();
  };
  button.addEventListener("click", () => opened ? close() : open());
  addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
  addEventListener("message", (event) => {
    if (!frame || event.source !== frame.contentWindow || event.origin !== base || !event.data) return;
    const { chatsvc: kind, message } = event.data;
    if (kind === "close") close();
    if (kind === "message" && message) {
      if (!opened && message.role !== "user") button.dataset.new = "";
      for (const listener of listeners) try { listener(message); } catch (fault) { console.error(fault); }
    }
  });
  // The second script brings the looks that the owner has set, and none to a page that may not show the widget.
  const show = (given) => {
    if (look || !given) return;
    look = given;
    if (document.body) dress(); else addEventListener("DOMContentLoaded", dress);
  };
  window.chatsvc = { open, close, show, on: (name, listener) => { if (name === "message") listeners.push(listener); } };
  const second = create("script");
  second.referrerPolicy = "strict-origin";
  second.nonce = script.nonce;
  second.src = `${at}/look.js?${new URLSearchParams(["language", "color", "position"].map((name) => [name, option(name) ?? ""]))}&page=${encodeURIComponent(root.lang)}`;
  root.append(second);
})();
