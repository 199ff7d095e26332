// What a page does beside showing: copying, asking before harm, times in the reader's zone, keeping
// what was typed. Every page works without it, but for copying and live numbers.

document.documentElement.classList.add("has-script");

const inWords = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** Show every moment below *root* in the reader's zone; UTC stays in its title. */
export function showTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([title])")) {
    time.title = time.textContent;
    time.textContent = inWords.format(new Date(time.dateTime));
  }
}

/** Ask *question* in a dialog; resolves to whether it was answered with yes. */
function ask(question, yes) {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", "asked");
  const text = document.createElement("p");
  text.id = "asked";
  text.textContent = question;
  const buttons = document.createElement("form");
  buttons.method = "dialog";
  buttons.className = "buttons";
  for (const [value, label, kind] of [["no", "Cancel", ""], ["yes", yes, "primary"]]) {
    const button = document.createElement("button");
    button.value = value;
    button.textContent = label;
    button.className = kind;
    buttons.append(button);
  }
  dialog.append(text, buttons);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
  });
}

/** Copy what a button has, or select it beside the button where a page may not copy: over plain http. */
async function copy(button) {
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    return "Copied";
  } catch {
    const beside = button.parentElement;
    getSelection().selectAllChildren(beside.querySelector("code") ?? beside);
    return "Selected";
  }
}

const changed = new Set(); // forms that hold what nobody saved
let sent = null; // the form for which the page is about to be left

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.dataset.ask && !form.dataset.answered) {
    event.preventDefault();
    const button = event.submitter;
    if (await ask(form.dataset.ask, button?.textContent.trim() || "Yes")) {
      form.dataset.answered = "yes";
      form.requestSubmit(button);
      delete form.dataset.answered; // whoever stays is asked again
    }
    return;
  }
  if (form.method !== "dialog") sent = form;
});

document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-keep]");
  if (form) changed.add(form);
});

/** A browser puts what was entered back into a form that is gone back to, sooner or later, beside
 *  hidden fields that are new. A field with `data-made-from` comes back, too, and has what they were,
 *  which is sent: so who saves then is told what others changed meanwhile, and does not undo it unseen. */
for (const kept of document.querySelectorAll("input[data-made-from]")) {
  const fields = kept.form.querySelectorAll('[name="etag"], [name="seen"]');
  kept.value ||= JSON.stringify([...fields].map(({ name, value }) => [name, value]));
}

document.addEventListener("formdata", (event) => {
  const kept = event.target.querySelector("input[data-made-from]");
  if (kept) for (const [name, value] of JSON.parse(kept.value)) event.formData.set(name, value);
});

/** A field with `data-send` sends its form once it is changed, and has the focus again on the page
 *  that comes of that: so arrow keys go through a list although each of them changes it. */
const SENT_BY = "remit-sent-by";
const sentBy = sessionStorage.getItem(SENT_BY);
if (sentBy) document.getElementById(sentBy)?.focus({ preventScroll: true });
sessionStorage.removeItem(SENT_BY);
let sender = null; // the field that was changed last

document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-send]")) return;
  sender = event.target;
  sender.form.requestSubmit();
});

window.addEventListener("beforeunload", (event) => {
  if ([...changed].some((form) => form !== sent)) event.preventDefault();
  if (sender && sender.form === sent) sessionStorage.setItem(SENT_BY, sender.id);
  else sessionStorage.removeItem(SENT_BY);
  sent = sender = null; // whoever stays is asked again
});

document.addEventListener("click", async (event) => {
  const copying = event.target.closest("[data-copy]");
  if (copying) {
    const label = (copying.dataset.label ??= copying.textContent);
    copying.textContent = await copy(copying);
    setTimeout(() => { copying.textContent = label; }, 1500);
    return;
  }
  const menu = event.target.closest("[data-menu]");
  if (menu) {
    const open = document.getElementById(menu.getAttribute("aria-controls")).classList.toggle("open");
    menu.setAttribute("aria-expanded", String(open));
  }
});

/** Make the children of *old* those of *fresh*, keeping every element that is in both: so focus, a
 *  selection, what is scrolled and which `<details>` are open stay as they are. */
function become(old, fresh) {
  const keyed = new Map([...old.children].filter((e) => e.dataset.key).map((e) => [e.dataset.key, e]));
  let place = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    const known = wanted.dataset?.key === undefined ? place : keyed.get(wanted.dataset.key);
    if (!isAlike(known, wanted)) {
      old.insertBefore(wanted, place);
      continue;
    }
    if (known === place) place = place.nextSibling;
    else old.insertBefore(known, place);
    if (known.nodeType === Node.ELEMENT_NODE) becomeAlike(known, wanted);
    else if (known.data !== wanted.data) known.data = wanted.data;
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

function isAlike(one, other) {
  return Boolean(one) && one.nodeName === other.nodeName && one.id === other.id
    && one.dataset?.key === other.dataset?.key;
}

function becomeAlike(known, wanted) {
  if (known.isEqualNode(wanted)) return;
  for (const { name, value } of [...wanted.attributes]) {
    if (known.getAttribute(name) !== value) known.setAttribute(name, value);
  }
  for (const { name } of [...known.attributes]) {
    if (!wanted.hasAttribute(name) && !(name === "open" && known.nodeName === "DETAILS")) {
      known.removeAttribute(name);
    }
  }
  become(known, wanted);
}

/** A part with `data-live="URL"` becomes what its stream of events sends, while somebody can see it.
 *  A button with `data-pause="ID"` of the part stops that; `data-live-state="ID"` says how it goes. */
for (const part of document.querySelectorAll("[data-live]")) {
  const button = document.querySelector(`[data-pause="${part.id}"]`);
  const state = document.querySelector(`[data-live-state="${part.id}"]`);
  const say = (text) => { if (state) state.textContent = text; };
  let events = null;
  let isOver = false;
  const close = () => {
    events?.close();
    events = null;
  };
  const open = () => {
    if (events || isOver || document.hidden || button?.getAttribute("aria-pressed") === "true") return;
    events = new EventSource(part.dataset.live);
    events.addEventListener("open", () => say("Live"));
    events.addEventListener("error", () => say("Connecting …"));
    events.addEventListener("message", (event) => {
      const template = document.createElement("template");
      template.innerHTML = event.data; // HTML of this gateway, escaped there
      showTimes(template.content);
      const focused = document.activeElement;
      become(part, template.content);
      if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
    });
    events.addEventListener("gone", () => {
      isOver = true;
      close();
      say("Stopped: sign in again");
    });
  };
  button?.addEventListener("click", () => {
    const isPaused = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(isPaused));
    if (isPaused) {
      close();
      say("Paused");
    } else open();
  });
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", open);
  open();
}

/** A field with `data-filter="TABLE"` hides rows that do not hold its text. */
for (const field of document.querySelectorAll("[data-filter]")) {
  field.addEventListener("input", () => {
    const wanted = field.value.toLowerCase();
    for (const row of document.querySelectorAll(`${field.dataset.filter} tbody tr`)) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
    }
  });
}

/** A part with `data-when="NAME=VALUE,VALUE"` is there while that field of its form says so. */
function showWhatCounts() {
  for (const part of document.querySelectorAll("[data-when]")) {
    const [name, values] = part.dataset.when.split("=");
    part.hidden = !values.split(",").includes(part.closest("form").elements[name].value);
  }
}
document.addEventListener("change", showWhatCounts);
showWhatCounts();

/** A button with `data-more` puts one more row like the last one, empty, before itself. */
for (const button of document.querySelectorAll("[data-more]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const row = button.previousElementSibling.cloneNode(true);
    for (const field of row.querySelectorAll("input")) field.value = "";
    button.before(row);
    row.querySelector("input").focus();
  });
}

/** In a table with `data-grid`, Tab reaches one link and the arrow keys the others from there. */
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
for (const table of document.querySelectorAll("table[data-grid]")) {
  const places = [...table.rows].map((row) => [...row.cells].map((cell) => cell.querySelector("a")))
    .filter((row) => row.some((link) => link));
  let current = table.querySelector("td a");
  for (const link of table.querySelectorAll("a")) link.tabIndex = link === current ? 0 : -1;
  table.addEventListener("focusin", (event) => {
    if (event.target.tagName !== "A") return;
    current.tabIndex = -1;
    current = event.target;
    current.tabIndex = 0;
  });
  table.addEventListener("keydown", (event) => {
    const [down, right] = MOVES[event.key] ?? [];
    if (down === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    const row = places.findIndex((links) => links.includes(current));
    const next = places[row + down]?.[places[row].indexOf(current) + right];
    event.preventDefault();
    next?.focus({ preventScroll: true });
    next?.scrollIntoView({ block: "nearest", inline: "nearest" }); // not under the fixed heads
  });
}

/** A field with `data-utc` holds UTC; here it shows the reader's own time, and is sent as UTC. */
for (const field of document.querySelectorAll("input[data-utc]")) {
  const moment = field.value ? new Date(`${field.value}Z`) : null;
  if (moment) {
    const here = new Date(moment.getTime() - moment.getTimezoneOffset() * 60000);
    field.value = here.toISOString().slice(0, moment.getUTCMilliseconds() ? 23 : 19);
  }
  const hint = document.getElementById(field.getAttribute("aria-describedby"));
  if (hint?.textContent === "UTC") hint.textContent = inWords.resolvedOptions().timeZone;
}

document.addEventListener("formdata", (event) => {
  for (const field of event.target.querySelectorAll("input[data-utc]")) {
    if (field.value) event.formData.set(field.name, new Date(field.value).toISOString());
  }
});

showTimes(document);
