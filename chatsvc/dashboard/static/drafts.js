// Keeps what was typed and not yet sent: in this tab, for the person who typed it. Every page works without this script.
"use strict";

(() => {
  const PREFIX = "chatsvc draft ", SENT = "chatsvc sent";
  const { operator, unsaved, discard } = document.body.dataset;
  const store = (() => {
    try {
      sessionStorage.setItem(`${PREFIX}?`, "");
      sessionStorage.removeItem(`${PREFIX}?`);
      return sessionStorage;
    } catch {
      return null; // the browser keeps nothing for this site
    }
  })();
  const sent = JSON.parse(store?.getItem(SENT) ?? "null");
  store?.removeItem(SENT);
  // After a sign-out in the meantime the form was not accepted: its draft waits for the sign-in.
  if (!operator) return;

  const forms = [...document.querySelectorAll("main form[method=post]")].filter((form) => fieldsOf(form).length && !form.querySelector("[type=password]"));
  const isComposer = (form) => form.querySelector("textarea[data-send]") !== null;
  const returned = ["back_forward", "reload"].includes(performance.getEntriesByType("navigation")[0]?.type);
  let isSending = false;

  // What a person fills in, with a key for each field: the name and its place among those of the same name.
  function fieldsOf(form) {
    const counts = {};
    return [...form.elements].filter((field) => field.name && field.name !== "yes" && field.matches("input:not([type=hidden], [type=file], [type=submit], [type=button]), textarea, select"))
      .map((field) => [`${field.name} ${counts[field.name] = (counts[field.name] ?? 0) + 1}`, field]);
  }

  const isBox = (field) => field.type === "checkbox" || field.type === "radio";
  const valueOf = (field) => isBox(field) ? field.checked : field.value;

  function defaultOf(field) {
    if (isBox(field)) return field.defaultChecked;
    if (field.localName !== "select") return field.defaultValue;
    return ([...field.options].find((option) => option.defaultSelected) ?? field.options[0])?.value ?? "";
  }

  function keyOf(form) {
    const hidden = (name) => form.querySelector(`input[type=hidden][name=${name}]`)?.value ?? "";
    return `${PREFIX}${operator} ${new URL(form.action).pathname} ${hidden("piece")} ${hidden("id")}`;
  }

  const isChanged = (form) => fieldsOf(form).some(([, field]) => valueOf(field) !== defaultOf(field));

  function remember(form, isWhole = false) {
    const fields = fieldsOf(form).filter(([, field]) => isWhole || valueOf(field) !== defaultOf(field));
    const draft = { version: form.elements.version?.value, values: fields.map(([key, field]) => [key, valueOf(field)]) };
    try {
      if (fields.length) store?.setItem(keyOf(form), JSON.stringify(draft));
      else store?.removeItem(keyOf(form));
    } catch {
      // No room: the page works as without drafts.
    }
  }

  function restore(form) {
    const draft = JSON.parse(store?.getItem(keyOf(form)) ?? "null");
    if (!draft) return;
    const values = new Map(draft.values);
    for (const [key, field] of fieldsOf(form)) {
      if (!values.has(key)) continue;
      if (isBox(field)) field.checked = values.get(key);
      else field.value = values.get(key);
    }
    // The server compares it with what has been saved meanwhile.
    if (form.elements.version && draft.version) form.elements.version.value = draft.version;
    mark(form);
  }

  function forget(form) {
    store?.removeItem(keyOf(form));
    form.reset();
    mark(form);
  }

  // "Not saved yet" at the end of the form. A composer shows its text anyway.
  function mark(form) {
    if (isComposer(form)) return;
    let line = form.querySelector(".unsaved");
    if (!isChanged(form)) return line?.remove();
    if (line) return;
    line = document.createElement("p");
    line.className = "unsaved muted";
    line.setAttribute("role", "status");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "link";
    button.textContent = discard;
    button.addEventListener("click", () => forget(form));
    line.append(unsaved, " ", button);
    form.append(line);
  }

  for (const form of forms) {
    const key = keyOf(form);
    if (sent?.key === key && !returned) {
      // Accepted: it is over. Shown again with what was typed: that is the draft now.
      if (sent.isAct && !document.querySelector("[data-failed]")) store?.removeItem(key);
      else remember(form, true);
    } else {
      restore(form);
    }
    for (const kind of ["input", "change"]) form.addEventListener(kind, () => { remember(form); mark(form); });
  }
  // A page without the form, after it was accepted.
  if (sent?.isAct && !returned && !document.querySelector("[data-failed]") && sent.key.startsWith(PREFIX + operator)) store?.removeItem(sent.key);

  document.addEventListener("submit", (event) => {
    if (event.defaultPrevented) return;
    isSending = true;
    if (!forms.includes(event.target)) return;
    remember(event.target);
    store?.setItem(SENT, JSON.stringify({ key: keyOf(event.target), isAct: !event.submitter?.hasAttribute("formaction") }));
  });
  window.addEventListener("pageshow", () => { isSending = false; });
  window.addEventListener("beforeunload", (event) => {
    if (!isSending && forms.some((form) => !isComposer(form) && isChanged(form))) event.preventDefault();
  });
})();
