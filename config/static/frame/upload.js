// Gets an address by POST to the page of a form with data-upload, sends the file there by PUT, and shows the progress.
// Without this script the form stays hidden. Afterwards the page data-next opens. The service keeps nothing of a file
// that has not arrived whole.
const STALLED_AFTER = 60_000; // milliseconds without progress
const ADDRESS_WITHIN = 30_000;
const ANSWER_WITHIN = 300_000; // after the last byte, which a proxy may still have to pass on
const CHECKED_EVERY = 1_000;
const GZIP = [0x1f, 0x8b]; // the first bytes of a gzip file
const MEGABYTE = 1024 * 1024;

const EXPIRED = "You can no longer upload this file: the upload has expired, or the image was deleted. Create a new image.";

function words(bytes) {
  const megabytes = bytes / MEGABYTE;
  return megabytes < 1024 ? `${megabytes.toFixed(megabytes < 10 ? 1 : 0)} MB` : `${(megabytes / 1024).toFixed(2)} GB`;
}

function reasonOf(request) {
  if (request.status === 404) return EXPIRED;
  try {
    return JSON.parse(request.responseText).errors.map(error => error.reason).join(" ");
  } catch {
    return `The server refused the file with the status ${request.status}.`;
  }
}

for (const form of document.querySelectorAll("form[data-upload]")) {
  const input = form.querySelector("input[type=file]");
  const bar = form.querySelector("progress");
  const part = name => form.querySelector(`[data-part=${name}]`);
  let current = null;
  let busy = false; // from the button on, while the file is read too

  function show(file, sent) {
    const percent = file.size ? Math.floor((100 * sent) / file.size) : 0;
    bar.value = percent;
    part("sent").textContent = `${words(sent)} of ${words(file.size)}`;
    part("percent").textContent = `${percent} %`;
  }

  function setSending(sending) {
    input.disabled = sending;
    part("progress").hidden = part("cancel").hidden = !sending;
    part("send").hidden = part("later").hidden = sending;
    if (sending) part("cancel").focus();
  }

  function fail(reason, again) {
    current = null;
    busy = false;
    setSending(false);
    part("problem").textContent = reason;
    part("problem").hidden = false;
    part("send").textContent = again ? "Upload again" : "Upload file";
    part("send").focus();
  }

  async function problemOf(file) {
    if (file.size > Number(form.dataset.most)) return form.dataset.tooLarge;
    const start = new Uint8Array(await file.slice(0, GZIP.length).arrayBuffer());
    return GZIP.every((byte, position) => start[position] === byte) ? "" : form.dataset.broken;
  }

  // Returns an empty address if the image waits for no file any more.
  async function findAddress() {
    const body = new FormData();
    body.append("csrfmiddlewaretoken", form.querySelector("[name=csrfmiddlewaretoken]").value);
    const answer = await fetch("", { method: "POST", body, signal: AbortSignal.timeout(ADDRESS_WITHIN) });
    if (answer.redirected) throw new Error("You are signed out. Reload the page, and sign in again.");
    if (answer.status === 404) throw new Error(EXPIRED);
    if (!answer.ok) throw new Error(`The server refused the upload with the status ${answer.status}. Reload the page.`);
    return (await answer.json()).upload_to ?? "";
  }

  function send(file, address) {
    const request = new XMLHttpRequest(); // fetch does not tell how much it has sent
    let sent = 0;
    let moved = performance.now();
    const broke = () => fail(`The connection broke off after ${words(sent)} of ${words(file.size)}. Upload the file again.`, true);
    const unanswered = () => fail("The whole file was sent, but the server did not answer in time. Upload the file again.", true);
    const watch = setInterval(() => {
      const isSent = sent >= file.size;
      if (performance.now() - moved <= (isSent ? ANSWER_WITHIN : STALLED_AFTER)) return;
      request.onabort = isSent ? unanswered : broke;
      request.abort();
    }, CHECKED_EVERY);
    request.upload.onprogress = ({ loaded }) => {
      [sent, moved] = [Math.min(loaded, file.size), performance.now()];
      show(file, sent);
      if (sent >= file.size) part("percent").textContent = "Sent. Waiting for the answer of the server.";
    };
    request.onload = () => {
      if (request.status !== 200) return fail(reasonOf(request), true);
      current = null;
      location.assign(form.dataset.next);
    };
    request.onerror = broke;
    request.onabort = () => fail(sent < file.size
      ? "You cancelled the upload. Nothing of the file was stored."
      : "You cancelled when the whole file was sent. The server may have stored it: the page of the image shows this.", true);
    request.onloadend = () => clearInterval(watch);
    request.open("PUT", address);
    show(file, 0);
    setSending(true);
    request.send(file);
    current = request;
  }

  form.hidden = false;
  form.addEventListener("submit", async event => {
    event.preventDefault();
    if (busy) return;
    busy = true;
    part("problem").hidden = true;
    const file = input.files[0];
    if (!file) return fail("Choose a file.", false);
    let problem;
    try {
      problem = await problemOf(file);
    } catch {
      problem = "The browser cannot read the file. Choose it again.";
    }
    if (problem) return fail(problem, false);
    input.disabled = true; // this file is sent, whatever is chosen meanwhile
    let address;
    try {
      address = await findAddress();
    } catch (error) {
      const lost = error instanceof TypeError || error.name === "TimeoutError";
      return fail(lost ? "The server did not answer. Check your connection, and upload the file again." : error.message, true);
    }
    if (!address) return location.assign(form.dataset.next); // an earlier attempt has arrived
    send(file, address);
  });
  part("cancel").addEventListener("click", () => current?.abort());
  addEventListener("pageshow", event => {
    if (event.persisted) location.reload(); // the form was sent when the page was left
  });
  addEventListener("beforeunload", event => {
    if (current) event.preventDefault();
  });
}
