// Loader of the chat widget: a button in a closed shadow root, and a frame that is made at the first click.
(() => {
  "use strict";
  const script = document.currentScript;
  if (!script || window.chatsvc) return;
  const data = script.dataset, base = new URL(script.src).origin, root = document.documentElement;
  const turkish = /^tr\b/i.test(/^(tr|en)\b/i.test(data.language) ? data.language : root.lang);
  const color = /^#[0-9a-f]{6}$/i.test(data.color || "") ? data.color : "#2456a6";
  const light = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16) / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const ink = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] > 0.179 ? "#000" : "#fff";
  const side = data.position === "left" ? "left" : "right";
  const host = document.createElement("div"), shadow = host.attachShadow({ mode: "closed" });
  const button = document.createElement("button"), listeners = [];
  let frame, loaded, opened = false;

  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`:host{all:initial!important}
button{all:unset;box-sizing:border-box;position:fixed;z-index:2147483000;bottom:20px;${side}:20px;width:60px;height:60px;border-radius:50%;
background:${color};color:${ink};border:1px solid ${ink};box-shadow:0 2px 10px #0006;cursor:pointer;display:grid;place-items:center}
button::before{content:"";width:28px;height:22px;border-radius:7px 7px 7px 0;background:${ink}}
button:focus-visible{outline:3px solid ${ink};outline-offset:-6px;box-shadow:0 0 0 4px ${color}}
button[data-new]::after{content:"";position:absolute;top:2px;right:2px;width:14px;height:14px;border-radius:50%;background:#d92d20;border:2px solid #fff}
iframe{position:fixed;z-index:2147483001;bottom:92px;${side}:20px;width:390px;max-width:calc(100vw - 40px);height:620px;
max-height:calc(100vh - 112px);border:1px solid #0003;border-radius:14px;box-shadow:0 6px 30px #0005;background:Canvas;color-scheme:light dark}
[hidden]{display:none}
@media (max-width:639px){iframe{inset:0;width:100%;max-width:none;height:100%;max-height:none;border:0;border-radius:0}}`);
  shadow.adoptedStyleSheets = [sheet];
  button.type = "button";

  const label = () => {
    button.ariaExpanded = opened;
    button.ariaLabel = turkish ? `Sohbeti ${opened ? "kapat" : "aç"}` : `${opened ? "Close" : "Open"} the chat`;
  };
  const tell = (what) => loaded && frame.contentWindow.postMessage({ chatsvc: what }, base);
  // A phone's keyboard covers the page without making it smaller; only the visual viewport tells.
  const fit = () => {
    const seen = window.visualViewport, full = innerWidth < 640 && seen;
    frame.style.height = full ? `${seen.height}px` : "";
    frame.style.top = full ? `${seen.offsetTop}px` : "";
  };
  const open = () => {
    if (!frame) {
      frame = document.createElement("iframe");
      const query = new URLSearchParams({ language: turkish ? "tr" : "en" });
      if (data.color) query.set("color", color.slice(1));
      frame.title = turkish ? "Sohbet" : "Chat";
      frame.referrerPolicy = "strict-origin";
      frame.src = `${base}/widget/${encodeURIComponent(data.bot)}?${query}`;
      frame.onload = () => { loaded = 1; tell(opened ? "open" : "close"); };
      shadow.append(frame);
      window.visualViewport?.addEventListener("resize", fit);
      window.visualViewport?.addEventListener("scroll", fit);
    } else tell("open");
    opened = true;
    frame.hidden = false;
    frame.focus();
    delete button.dataset.new;
    fit();
    label();
  };
  const close = () => {
    if (!opened) return;
    opened = false;
    frame.hidden = true;
    tell("close");
    label();
    button.focus();
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
  window.chatsvc = { open, close, on: (name, listener) => { if (name === "message") listeners.push(listener); } };
  label();
  shadow.append(button);
  const start = () => {
    document.body.append(host);
    if ("open" in data && data.open !== "false") open();
  };
  if (document.body) start(); else addEventListener("DOMContentLoaded", start);
})();
