// The page of a console: asks for a ticket, and carries keys and text over a websocket. docs/consoles.md has its rules.
import { Terminal } from "../xterm/xterm.mjs";
import { FitAddon } from "../xterm/addon-fit.mjs";

const ALIVE = 20_000; // milliseconds between signs of life, without which the server takes this page for gone
const AGAIN = 3_000; // and between tries while an instance boots
const KEPT_TRYING = 10 * 60_000;

const form = document.getElementById("console");
const state = document.getElementById("state");
const buttons = Object.fromEntries(["open", "take-over", "size", "leave"].map((id) => [id, document.getElementById(id)]));

const terminal = new Terminal({
  fontFamily: "ui-monospace, Menlo, Consolas, monospace",
  fontSize: 15,
  scrollback: 5000,
  cursorBlink: true,
  screenReaderMode: false,
  linkHandler: { activate: () => {} }, // a machine names no address that this browser goes to
  theme: { background: "#0d1117", foreground: "#e6edf3", cursor: "#e6edf3" },
});
const fit = new FitAddon();
terminal.loadAddon(fit);
terminal.open(document.getElementById("terminal"));
terminal.textarea.setAttribute("aria-label", "Console");
fit.fit();
addEventListener("resize", () => fit.fit());

let socket = null;
let asking = false;
let trying = 0; // until when it is tried again by itself
let left = 0; // how often the console was left: a ticket that was asked for before that is not used
let timer = null;

const encoder = new TextEncoder();
function type(text) {
  if (socket?.readyState !== WebSocket.OPEN) return;
  // the server takes 64 KB at a time
  for (let at = 0; at < text.length; at += 8192) socket.send(encoder.encode(text.slice(at, at + 8192)));
}
terminal.onData(type);
terminal.onBinary((text) => socket?.readyState === WebSocket.OPEN && socket.send(Uint8Array.from(text, (c) => c.charCodeAt(0))));
terminal.attachCustomKeyEventHandler((event) => {
  if (!(event.ctrlKey && event.key === "]")) return true;
  if (event.type === "keydown") buttons.leave.focus();
  event.preventDefault();
  return false;
});

function show(words, { isOpen = false, mayTakeOver = false } = {}) {
  state.textContent = words;
  document.body.dataset.console = isOpen ? "open" : "closed";
  buttons.open.hidden = isOpen;
  buttons.size.hidden = buttons.leave.hidden = !isOpen;
  buttons["take-over"].hidden = !mayTakeOver;
}

function ended(reason, again, none) {
  socket = null;
  if (none) {
    show(reason);
    buttons.open.hidden = true;
    document.body.dataset.console = "none";
  } else if (again && Date.now() < trying) {
    show(`${reason} Trying again.`);
    buttons.leave.hidden = false;
    timer = setTimeout(begin, AGAIN);
  } else {
    show(reason);
    if (document.activeElement === terminal.textarea) buttons.open.focus();
  }
}

async function ticket(takeOver) {
  const given = new FormData(form);
  const answer = await fetch(location.pathname, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRFToken": given.get("csrfmiddlewaretoken") },
    body: JSON.stringify({ take_over: takeOver, reason: given.get("reason") }),
    redirect: "manual",
  });
  if (answer.type === "opaqueredirect") return { reason: "You are signed out: load this page again." };
  if (!answer.headers.get("Content-Type")?.startsWith("application/json")) {
    return { reason: `The platform answers ${answer.status}: load this page again.` };
  }
  return answer.json();
}

async function begin(takeOver = false) {
  clearTimeout(timer);
  if (asking || socket) return;
  asking = true;
  const before = left;
  let given;
  try {
    given = await ticket(takeOver === true);
  } catch {
    given = { reason: "The platform cannot be reached.", again: true };
  } finally {
    asking = false;
  }
  if (left !== before) return;
  if (given.address) connect(given.address);
  else if (given.occupied) show(given.reason, { mayTakeOver: true });
  else ended(given.reason, given.again);
}

function connect(address) {
  show("Opening…");
  buttons.open.hidden = true;
  buttons.leave.hidden = false;
  const mine = (socket = new WebSocket(address));
  mine.binaryType = "arraybuffer";
  let last = { ended: "The connection was lost.", again: true };
  let alive = null;
  mine.onopen = () => (alive = setInterval(() => mine.send("alive"), ALIVE));
  mine.onmessage = ({ data }) => {
    if (typeof data !== "string") {
      terminal.write(new Uint8Array(data));
      return;
    }
    const message = JSON.parse(data);
    if (message.state === "open") {
      trying = Date.now() + KEPT_TRYING;
      terminal.reset(); // what was printed before comes anew
      show("Connected.", { isOpen: true });
      terminal.focus();
    } else {
      last = message;
    }
  };
  mine.onclose = () => {
    clearInterval(alive);
    if (mine === socket) ended(last.ended, last.again, last.none);
  };
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  trying = Date.now() + KEPT_TRYING;
  begin();
});
buttons["take-over"].addEventListener("click", () => begin(true));
buttons.leave.addEventListener("click", () => {
  clearTimeout(timer);
  const leaving = socket;
  socket = null;
  leaving?.close();
  trying = 0;
  left += 1;
  show("You left the console.");
  buttons.open.focus();
});
buttons.size.addEventListener("click", () => {
  type(`stty rows ${terminal.rows} cols ${terminal.cols}\r`);
  terminal.focus();
});

show("");
if (form.dataset.begin === "now") {
  trying = Date.now() + KEPT_TRYING;
  begin();
}
