// SPDX-License-Identifier: MIT
// A page in the browser. Its methods have the names and meanings of Playwright's.
import { Locator } from "./locator.mjs";

const timeout = 40_000; // milliseconds
const keys = { Enter: [13, "\r"], Escape: [27], Tab: [9], End: [35], ArrowDown: [40], Space: [32, " "] };
const shift = 8; // of the protocol's modifiers

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export class Tab {
  constructor(call, dispose) {
    this.call = call;
    this.dispose = dispose;
    this.onError = () => undefined;
    this.keyboard = { press: (key) => this.press(key) };
    this.root = new Locator(this, []);
  }

  async start({ viewport = { width: 1280, height: 720 }, colorScheme = "light" }) {
    await Promise.all(["Page", "Runtime", "Log"].map((domain) => this.call(`${domain}.enable`)));
    await this.setViewport(viewport);
    await this.call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: colorScheme }] });
    await this.call("Emulation.setFocusEmulationEnabled", { enabled: true });
  }

  take({ method, params }) {
    if (method === "Page.loadEventFired") {
      this.loaded?.();
    } else if (method === "Runtime.exceptionThrown") {
      this.onError(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    } else if (method === "Runtime.consoleAPICalled" && params.type === "error") {
      this.onError(params.args.map((argument) => argument.value ?? argument.description).join(" "));
    } else if (method === "Log.entryAdded" && params.entry.level === "error") {
      this.onError(params.entry.text);
    }
  }

  async goto(url) {
    const loaded = new Promise((resolve) => (this.loaded = resolve));
    const { errorText } = await this.call("Page.navigate", { url });
    if (errorText) {
      throw new Error(`${url}: ${errorText}`);
    }
    await loaded;
  }

  async close() {
    const dispose = this.dispose;
    this.dispose = undefined;
    await dispose?.();
  }

  url = () => this.evaluate(() => window.location.href);
  title = () => this.evaluate(() => document.title);
  locator = (css, options) => this.root.locator(css, options);
  getByRole = (role, options) => this.root.getByRole(role, options);
  getByText = (text, options) => this.root.getByText(text, options);
  getByLabel = (text) => this.root.getByLabel(text);
  waitForTimeout = pause;

  // Runs a function in the page, with arguments that JSON can express.
  async evaluate(work, ...given) {
    const { result, exceptionDetails } = await this.call("Runtime.evaluate", {
      expression: `(${work})(${given.map((each) => JSON.stringify(each) ?? "undefined").join()})`,
      awaitPromise: true,
      returnByValue: true,
      userGesture: true,
    });
    if (exceptionDetails) {
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    }
    return result.value;
  }

  // Until the function returns a value that is true, which is then returned.
  async waitForFunction(work, ...given) {
    const end = Date.now() + timeout;
    for (;;) {
      const value = await this.evaluate(work, ...given);
      if (value) {
        return value;
      }
      if (Date.now() > end) {
        const what = typeof work === "function" ? String(work) : "";
        throw new Error(`not within ${timeout} ms: ${what} ${JSON.stringify(given)}`);
      }
      await pause(50);
    }
  }

  // A key, also as in 'Shift+Space'.
  async press(chord) {
    const key = chord.replace("Shift+", "");
    const [windowsVirtualKeyCode, text] = keys[key];
    const event = { key: key === "Space" ? " " : key, code: key, windowsVirtualKeyCode, modifiers: key === chord ? 0 : shift };
    await this.call("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", text, ...event });
    await this.call("Input.dispatchKeyEvent", { type: "keyUp", ...event });
  }

  async screenshot() {
    return Buffer.from((await this.call("Page.captureScreenshot")).data, "base64");
  }

  // Moves the pointer to a point of the viewport.
  async hover(x, y) {
    await this.call("Input.dispatchMouseEvent", { type: "mouseMoved", x, y });
  }

  // A click with the shift key, at the middle of the element.
  async shiftClick(locator) {
    const box = await locator.boundingBox();
    const at = { x: box.x + box.width / 2, y: box.y + box.height / 2, button: "left", clickCount: 1, modifiers: shift };
    await this.call("Input.dispatchMouseEvent", { type: "mousePressed", ...at });
    await this.call("Input.dispatchMouseEvent", { type: "mouseReleased", ...at });
  }

  back = () => this.evaluate(() => history.back());
  forward = () => this.evaluate(() => history.forward());

  async setViewport(size) {
    await this.call("Emulation.setDeviceMetricsOverride", { ...size, deviceScaleFactor: 1, mobile: false });
  }
}
