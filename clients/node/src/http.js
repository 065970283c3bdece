// SPDX-License-Identifier: MIT
// Requests with a time limit on each: to connect, and for the whole answer.
import http from "node:http";
import https from "node:https";
import { ServiceError, Unavailable } from "./errors.js";

export const version = "0.1.0";
// Answers after which the same request may succeed later.
export const temporary = new Set([408, 425, 429, 500, 502, 503, 504]);

export class Transport {
  constructor(url, token, { connectTimeout = 5 } = {}) {
    let parsed;
    try {
      parsed = new URL(url);
    } catch {
      throw new TypeError(`url is '${url}', expected http://HOST[:PORT] or https://HOST[:PORT]`);
    }
    if (!/^https?:$/.test(parsed.protocol) || parsed.search || parsed.hash) {
      throw new TypeError(`url is '${url}', expected http://HOST[:PORT] or https://HOST[:PORT]`);
    }
    this.url = url;
    this.connectTimeout = connectTimeout * 1000;
    this.library = parsed.protocol === "https:" ? https : http;
    this.agent = new this.library.Agent({ keepAlive: true, keepAliveMsecs: 10000, maxFreeSockets: 16 });
    this.prefix = parsed.pathname.replace(/\/+$/, "");
    this.to = { hostname: parsed.hostname.replace(/^\[|\]$/g, ""), port: parsed.port || undefined };
    this.headers = { "User-Agent": `weir-node/${version}` };
    if (token) {
      this.headers.Authorization = `Bearer ${token}`;
    } else if (parsed.username) {
      this.to.auth = `${decodeURIComponent(parsed.username)}:${decodeURIComponent(parsed.password)}`;
    }
  }

  // The answer, whatever its status: {status, text}. Rejects with Unavailable if none came within
  // `timeout` seconds. `signal` aborts it.
  async request(method, path, body, { timeout = 10, signal } = {}) {
    try {
      return await this.#once(method, path, body, timeout, signal);
    } catch (error) {
      // A kept connection that the server has closed meanwhile, most likely.
      if (!error.wasKept || signal?.aborted) {
        throw error;
      }
      return this.#once(method, path, body, timeout, signal);
    }
  }

  #once(method, path, body, timeout, signal) {
    return new Promise((resolve, reject) => {
      const headers = { ...this.headers };
      if (body !== undefined) {
        headers["Content-Type"] = "application/json";
        headers["Content-Length"] = Buffer.byteLength(body);
      } else if (method !== "GET") {
        headers["Content-Length"] = 0;
      }
      const request = this.library.request({
        ...this.to, method, path: this.prefix + path, headers, agent: this.agent, signal,
      });
      let hasAnswered = false;
      const fail = (error) => {
        clearTimeout(timer);
        clearTimeout(connecting);
        const failure = new Unavailable(`${this.url}: ${error.message || error.code || error}`);
        failure.wasKept = request.reusedSocket && !hasAnswered && error !== late;
        request.destroy();
        reject(failure);
      };
      const late = new Error("no answer in time");
      const timer = setTimeout(() => fail(late), timeout * 1000);
      let connecting;
      request.on("socket", (socket) => {
        socket.setNoDelay(true);
        if (socket.connecting) {
          connecting = setTimeout(() => fail(late), Math.min(this.connectTimeout, timeout * 1000));
          socket.once("connect", () => clearTimeout(connecting));
        }
      });
      request.on("error", fail);
      request.on("response", (response) => {
        hasAnswered = true;
        const parts = [];
        response.on("data", (part) => parts.push(part));
        response.on("error", fail);
        response.on("aborted", () => fail(new Error("the connection was closed before the answer was complete")));
        response.on("end", () => {
          clearTimeout(timer);
          clearTimeout(connecting);
          if (response.complete) {
            resolve({ status: response.statusCode, text: Buffer.concat(parts).toString("utf8") });
          }
        });
      });
      request.end(body);
    });
  }

  close() {
    this.agent.destroy();
  }
}

export function parse(answer) {
  try {
    return JSON.parse(answer.text);
  } catch (error) {
    throw new Unavailable(`the answer is no JSON: ${error.message}`);
  }
}

// The problem that the service describes (RFC 9457), or the bare status.
export function errorOf(answer) {
  let problem = {};
  try {
    problem = JSON.parse(answer.text) ?? {};
  } catch {
    // not described
  }
  return new ServiceError(answer.status, problem.detail ?? problem.title ?? "no detail", problem.member);
}

// Pauses between repeats: doubling, with jitter, without an end.
export class Backoff {
  constructor(first, most) {
    this.first = first;
    this.most = most;
    this.count = 0;
  }

  reset() {
    this.count = 0;
  }

  next() {
    const pause = Math.min(this.most, this.first * 2 ** Math.min(this.count, 30));
    this.count += 1;
    return pause * (0.5 + Math.random() / 2);
  }
}

export function sleep(seconds, signal) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, seconds * 1000);
    signal?.addEventListener("abort", done);
    if (signal?.aborted) {
      done();
    }
  });
}
