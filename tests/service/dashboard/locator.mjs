// SPDX-License-Identifier: MIT
// Elements of a page, found anew at each use: by style sheet selector, role, label or text, within
// those found before. An action waits until an element is there, visible and enabled.

// In the page: applies the steps one after the other.
function find(steps) {
  const plain = (text) => text.replace(/\s+/g, " ").trim();
  const has = (text, part) => plain(text).toLowerCase().includes(part.toLowerCase());
  const matches = (text, part, exact) => (exact ? plain(text) === part : has(text, part));
  const all = (from, css) => [...new Set(from.flatMap((element) => [...element.querySelectorAll(css)]))];
  // To compute a role takes the browser long: only of elements that may have it.
  const candidates = { button: "button", link: "a", checkbox: "input", dialog: "dialog", region: "section, [role=region]", search: "form, search", textbox: "input, textarea" };
  const apply = {
    css: (from, { css, hasText }) => all(from, css).filter((element) => hasText === undefined || has(element.textContent, hasText)),
    role: (from, { role, name, exact }) =>
      all(from, candidates[role]).filter((element) => element.checkVisibility() && element.computedRole === role && (name === undefined || matches(element.computedName, name, exact))),
    label: (from, { text }) => all(from, "input, select, textarea").filter((element) => has(element.computedName, text)),
    text: (from, { text, exact }) => {
      const found = [...from, ...all(from, "*")].filter((element) => element.nodeType === Node.ELEMENT_NODE && !element.matches("head *") && matches(element.textContent, text, exact));
      return found.filter((element) => ![...element.children].some((child) => found.includes(child)));
    },
    at: (from, { index }) => from.slice(index).slice(0, 1),
  };
  return steps.reduce((from, step) => apply[step.by](from, step), [document]);
}

function isVisible(element) {
  const box = element.getBoundingClientRect();
  return element.checkVisibility({ checkVisibilityCSS: true }) && box.width > 0 && box.height > 0;
}

// In the page: scrolls to the element; true if a click in its middle would reach it.
function isReachable(element) {
  if (!isVisible(element) || element.disabled) {
    return false;
  }
  element.scrollIntoView({ block: "center", behavior: "instant" });
  const box = element.getBoundingClientRect();
  const hit = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  return element.contains(hit) || (hit !== null && hit.closest("label")?.control === element);
}

const actions = {
  click: (element) => {
    element.focus();
    element.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, composed: true, view: window })); // also shapes
  },
  fill: (element, text) => {
    element.focus();
    element.select();
    document.execCommand(text === "" ? "delete" : "insertText", false, text);
  },
  selectOption: (element, value) => {
    if (![...element.options].some((option) => option.value === value)) {
      return false; // it comes from the service
    }
    element.value = value;
    element.dispatchEvent(new Event("input", { bubbles: true }));
    element.dispatchEvent(new Event("change", { bubbles: true }));
    return true;
  },
  check: (element, wanted) => {
    if (element.checked !== wanted) {
      element.click();
    }
  },
  focus: (element) => element.focus(),
};

export class Locator {
  constructor(tab, steps) {
    this.tab = tab;
    this.steps = steps;
  }

  narrow(step) {
    return new Locator(this.tab, [...this.steps, step]);
  }

  locator = (css, { hasText } = {}) => this.narrow({ by: "css", css, hasText });
  getByRole = (role, { name, exact } = {}) => this.narrow({ by: "role", role, name, exact });
  getByText = (text, { exact } = {}) => this.narrow({ by: "text", text, exact });
  getByLabel = (text) => this.narrow({ by: "label", text });
  first = () => this.narrow({ by: "at", index: 0 });
  last = () => this.narrow({ by: "at", index: -1 });

  click = () => this.act("click");
  fill = (text) => this.act("fill", text);
  selectOption = (value) => this.act("selectOption", value);
  check = () => this.act("check", true);
  uncheck = () => this.act("check", false);
  focus = () => this.act("focus");

  count = () => this.tab.evaluate(this.inPage((found) => found.length), this.steps);
  allTextContents = () => this.tab.evaluate(this.inPage((found) => found.map((element) => element.textContent)), this.steps);
  textContent = () => this.evaluate((element) => element.textContent);
  boundingBox = () => this.evaluate((element) => element.getBoundingClientRect().toJSON());

  // Waits for an element, and runs the function in the page with it.
  async evaluate(work) {
    const { value } = await this.tab.waitForFunction(this.inPage(`(found) => found.length > 0 && { value: (${work})(found[0]) }`), this.steps);
    return value;
  }

  async waitFor({ state = "visible" } = {}) {
    const conditions = {
      visible: (found) => found.some(isVisible),
      hidden: (found) => !found.some(isVisible),
      attached: (found) => found.length > 0,
    };
    await this.tab.waitForFunction(this.inPage(conditions[state]), this.steps);
  }

  // The check and the action are one step for the page, which may change its elements at any time.
  // An action that returns false is tried again.
  async act(name, given) {
    const work = `(found, given) => found.length > 0 && isReachable(found[0]) && (${actions[name]})(found[0], given) !== false`;
    await this.tab.waitForFunction(this.inPage(work), this.steps, given);
  }

  inPage(work) {
    return `(steps, given) => { ${find} ${isVisible} ${isReachable} return (${work})(find(steps), given); }`;
  }
}
