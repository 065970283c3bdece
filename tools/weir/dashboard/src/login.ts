// SPDX-License-Identifier: MIT
// The dialog that requests a token.

import { onTokenNeeded, setToken, token } from "./api";
import { dialogById, element } from "./dom";

// Accepted: a token was entered, though it may be invalid.
export function askForTokens(accepted: () => void): void {
  const dialog = dialogById("login");
  const input = element("input", { type: "password", name: "token", autocomplete: "off", required: true, autofocus: true, "aria-describedby": "login-said" });
  const problem = element("p", { id: "login-said", role: "alert", class: "bad" });
  const form = element(
    "form",
    { method: "dialog" },
    element("h2", { id: "login-title" }, "This service wants a token"),
    element("p", { class: "quiet" }, "It was given one with ", element("code", {}, "--token-file"), " or ", element("code", {}, "WEIR_TOKEN"), ". This page keeps it for this tab only."),
    element("label", {}, "Token", input),
    problem,
    element("button", { type: "submit", class: "primary" }, "Enter"),
  );
  form.addEventListener("submit", () => {
    setToken(input.value.trim());
    input.value = "";
    accepted();
  });
  dialog.addEventListener("cancel", (event) => event.preventDefault()); // the page shows nothing without a token
  dialog.append(form);
  onTokenNeeded(() => {
    if (!dialog.open) {
      problem.textContent = token() === "" ? "" : "The token that was given is not right, or not any more.";
      dialog.showModal();
    }
  });
}
