// Trying an operation out: a request is made of the form, shown as a line for curl, sent, and its answer shown.
import { indented } from "./json.js";
import { Refused } from "./caller.js";

// Headers that tell something about the call: those of the limits, scopes, and what to do next.
const TELLING = /^(x-ratelimit-.*|x-(accepted-)?oauth-scopes|x-request-id|retry-after|allow|content-type|www-authenticate)$/;

// The request of a form: address, headers, body, and the words of the line for curl that say the body.
export function requestOf(form) {
  const { method, path } = form.dataset;
  const fields = [...form.querySelectorAll("[data-in]")];
  const placed = (place) => fields.filter((field) => field.dataset.in === place && field.value !== "");
  const given = Object.fromEntries(placed("path").map((field) => [field.name, field.value]));
  // slashes stay: the ids of images and kernels have some
  const encoded = (text) => text.split("/").map(encodeURIComponent).join("/");
  const filled = path.replace(/\{(\w+)\}/g, (whole, name) => (name in given ? encoded(given[name]) : whole));
  const query = new URLSearchParams(placed("query").map((field) => [field.name, field.value]));
  // headers are ASCII, and so is JSON with escapes
  const headers = placed("header").map((field) => [field.name, escaped(field.value)]);
  const address = `${location.origin}${filled}${query.size ? `?${query}` : ""}`;
  const [body, bodyArguments] = bodyOf(placed, headers);
  return { method, address, headers: Object.fromEntries(headers), body, bodyArguments };
}

function bodyOf(placed, headers) {
  const parts = placed("form");
  if (parts.length) {
    const form = new FormData();
    const bodyArguments = parts.map((part) => {
      form.append(part.name, part.type === "file" ? part.files[0] : part.value);
      return ["-F", part.type === "file" ? `${part.name}=@${part.files[0].name}` : `${part.name}=${part.value}`];
    });
    return [form, bodyArguments.flat()];
  }
  const [whole] = [...placed("file"), ...placed("body")];
  if (!whole) return [undefined, []];
  headers.push(["Content-Type", whole.dataset.type]);
  if (whole.dataset.in === "file") return [whole.files[0], ["--data-binary", `@${whole.files[0].name}`]];
  return [whole.value, ["--data-raw", whole.value]];
}

const escaped = (text) => text.replace(/[^\x20-\x7e]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
const quoted = (word) => (/^[\w./:=@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

// The same call as a line of a shell. The token is the shell's own variable: no secret is shown or copied.
export function curlOf(request, withToken) {
  const line = ["curl", "-sSi"];
  if (request.method !== "GET") line.push("-X", request.method);
  for (const [name, value] of Object.entries(request.headers)) line.push("-H", quoted(`${name}: ${value}`));
  if (withToken) line.push("-H", '"Authorization: Bearer $TOKEN"');
  return [...line, ...request.bodyArguments.map(quoted), quoted(request.address)].join(" ");
}

function pair(name, value) {
  return [["dt", name], ["dd", value]].map(([tag, textContent]) => Object.assign(document.createElement(tag), { textContent }));
}

export function tryOut(form, caller) {
  const at = (name) => document.getElementById(name);
  const say = () => {
    at("curl").textContent = curlOf(requestOf(form), caller.choice !== "none");
    at("try-problem").hidden = true;
  };
  const complain = (words, help) => {
    at("try-problem").replaceChildren(words);
    if (help) {
      const link = Object.assign(document.createElement("a"), { href: help.address, textContent: help.words });
      link.dataset.whole = "";
      at("try-problem").append(" ", link);
    }
    at("try-problem").hidden = false;
  };

  async function send() {
    const request = requestOf(form);
    if (new URL(request.address).href.split("?")[0] !== request.address.split("?")[0]) {
      return complain("Browsers change this path before they send it. Use the line for curl.");
    }
    const token = await caller.token();
    const headers = token ? { ...request.headers, Authorization: `Bearer ${token}` } : request.headers;
    const started = performance.now();
    const answer = await fetch(request.address, {
      method: request.method, headers, body: request.body, credentials: "omit", cache: "no-store", redirect: "manual",
    });
    const content = await answer.blob();
    // a valid token without the scope is answered 401 too; then the header has its scopes
    if (answer.status === 401 && answer.headers.get("X-OAuth-Scopes") === "unknown") caller.forget();
    await showAnswer(answer, content, performance.now() - started);
  }

  async function showAnswer(answer, content, milliseconds) {
    at("came-status").textContent = `${answer.status} ${answer.statusText}`.trim();
    at("came-time").textContent = `after ${Math.round(milliseconds)} ms`;
    const [first, others] = [[], []];
    for (const [name, value] of answer.headers) (TELLING.test(name) ? first : others).push(...pair(name, value));
    at("came-headers").replaceChildren(...first);
    at("came-others").replaceChildren(...others);
    const isText = /json|^text\//.test(content.type) || !content.size;
    const text = isText ? await content.text() : "";
    at("came-body").textContent = isText ? indented(text) || "(empty)" : `${content.type}, ${content.size} bytes`;
    URL.revokeObjectURL(at("came-file").href);
    at("came-file").hidden = isText;
    if (!isText) Object.assign(at("came-file"), { href: URL.createObjectURL(content), download: form.dataset.id });
    at("came").hidden = false;
    at("came").scrollIntoView({ block: "nearest" });
  }

  form.addEventListener("input", say);
  form.addEventListener("change", say);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = event.submitter ?? form.querySelector(".buttons button");
    button.disabled = true;
    at("try-problem").hidden = true;
    at("try-status").textContent = "Sending …";
    try {
      await send();
      at("try-status").textContent = `Answered ${at("came-status").textContent}`;
    } catch (error) {
      at("try-status").textContent = "";
      complain(error instanceof Refused ? error.message : `No answer came: ${error.message}`, error.help);
    } finally {
      button.disabled = false;
    }
  });
  say();
}
