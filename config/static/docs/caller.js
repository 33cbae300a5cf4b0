// The caller: with a token that the server creates for the session, with a pasted token, or without a token. Tokens are in
// this object alone; nothing of the page or the browser keeps them.

export class Refused extends Error {
  // `help`: the address of a page that helps, and the words of the link to it; or null
  constructor(reason, help = null) {
    super(reason);
    this.help = help;
  }
}

export class Caller {
  #made = {};
  #picked = "";

  constructor(content) {
    this.element = content.querySelector(".caller");
    this.pasted = this.element.querySelector("#pasted");
    this.csrf = this.element.querySelector("#csrf");
    this.element.addEventListener("change", (event) => {
      if (event.target.name === "caller") this.#picked = event.target.value;
      this.#show();
    });
    this.#show();
  }

  // Offer the tokens that an operation accepts, and select the one with the least access. If the operation accepts
  // the token that the reader selected earlier, keep that selection.
  offer(accepted) {
    const choices = [...this.element.querySelectorAll("[name=caller]")];
    for (const each of choices) {
      each.disabled = each.closest(".choice").hidden = !accepted.includes(each.value);
    }
    const wanted = [this.#picked, ...accepted].filter((value) => accepted.includes(value));
    const found = wanted.map((value) => choices.find((each) => each.value === value));
    found.find(Boolean).checked = true;
    this.#show();
  }

  get choice() {
    return this.element.querySelector("[name=caller]:checked").value;
  }

  #show() {
    this.element.querySelector(".pasted").hidden = this.choice !== "pasted";
  }

  // The token to call with, or null for none. Throws Refused where there is none to be had.
  async token() {
    if (this.choice === "none") return null;
    if (this.choice === "pasted") {
      const token = this.pasted.value.trim();
      if (!/^[\x21-\x7e]+$/.test(token)) throw new Refused("Paste a token first: one word, as it was shown to you.");
      return token;
    }
    const cached = this.#made[this.choice];
    if (cached && performance.now() < cached.until) return cached.token;
    return this.#make(this.choice);
  }

  // After a 401 `Invalid Token`: the token was revoked or has expired.
  forget() {
    delete this.#made[this.choice];
  }

  async #make(access) {
    const answer = await fetch(this.csrf.dataset.address, {
      method: "POST",
      headers: { "X-CSRFToken": this.csrf.value },
      body: new URLSearchParams({ access, back: location.pathname }),
    });
    if (!answer.headers.get("Content-Type")?.startsWith("application/json")) {
      const help = { address: location.pathname, words: "Load the page again" };
      throw new Refused("Somebody signed in or out after you opened this page.", help);
    }
    const made = await answer.json();
    if (!answer.ok) throw new Refused(made.reason, made.help);
    // a little earlier than it ends, so that no call comes too late
    this.#made[access] = { token: made.token, until: performance.now() + (made.seconds - 20) * 1000 };
    return made.token;
  }
}
