// Asks a security key what a form's data-options say, which only a script can, and sends its answer in that form.
// A form stays hidden where the browser knows no keys; an element data-no-keys is there until one can be asked.
const toBytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
const toText = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const PARTS = ["clientDataJSON", "attestationObject", "authenticatorData", "signature"];
const WORDS = {
  InvalidStateError: "This key is registered already.",
  NotAllowedError: "No key answered. Try again, and touch the key when it blinks.",
};

function readable(options) {
  options.challenge = toBytes(options.challenge);
  if (options.user) options.user.id = toBytes(options.user.id);
  for (const each of [...(options.excludeCredentials ?? []), ...(options.allowCredentials ?? [])]) each.id = toBytes(each.id);
  return options;
}

function sendable({ id, rawId, type, response }) {
  const parts = PARTS.filter((name) => response[name]).map((name) => [name, toText(response[name])]);
  return JSON.stringify({ id, rawId: toText(rawId), type, response: Object.fromEntries(parts), clientExtensionResults: {} });
}

if (window.PublicKeyCredential) {
  for (const element of document.querySelectorAll("[data-no-keys]")) element.hidden = true;
  for (const form of document.querySelectorAll("form[data-security-key]")) {
    const problem = form.querySelector("[role=alert]");
    form.hidden = false;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      problem.hidden = true;
      try {
        const publicKey = readable(JSON.parse(form.dataset.options));
        form.elements.answer.value = sendable(await navigator.credentials[form.dataset.securityKey]({ publicKey }));
      } catch (error) {
        problem.textContent = WORDS[error.name] ?? `The browser cannot use the key: ${error.message}`;
        problem.hidden = false;
        return;
      }
      form.submit();
    });
  }
}
