// SPDX-License-Identifier: MIT
// The live feed. Comes back by itself, and says where it was: what it missed is sent again, or it is told that there
// is a gap, and everything is asked for anew.

import { askForToken, token } from "./api";

export interface FeedMessage {
  type: string;
  topic?: string;
  position?: string;
  missed?: number;
  is_known?: boolean;
  [name: string]: unknown;
}

export interface Listener {
  message(message: FeedMessage): void;
  state(isConnected: boolean): void;
  gap(): void; // everything may have changed
}

const topics = ["all", "stats", "queues"];
const longestPause = 10_000;

function tokenProtocol(): string {
  const bytes = new TextEncoder().encode(token());
  const text = btoa(String.fromCharCode(...bytes));
  return "weir.token." + text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export class Feed {
  private socket: WebSocket | undefined;
  private positions = new Map<string, string>();
  private pause = 500;
  private timer: number | undefined;

  constructor(private readonly listener: Listener) {}

  connect(): void {
    window.clearTimeout(this.timer);
    this.socket?.close();
    const at = new URL("/events", window.location.href);
    at.protocol = at.protocol.replace("http", "ws");
    const protocols = ["weir.events"];
    if (token() !== "") {
      protocols.push(tokenProtocol());
    }
    const socket = new WebSocket(at, protocols);
    this.socket = socket;
    socket.addEventListener("open", () => {
      this.pause = 500;
      for (const topic of topics) {
        const since = this.positions.get(topic);
        socket.send(JSON.stringify(since === undefined ? { subscribe: topic } : { subscribe: topic, since }));
      }
      this.listener.state(true);
    });
    socket.addEventListener("message", (event) => {
      this.take(JSON.parse(String(event.data)) as FeedMessage);
    });
    socket.addEventListener("close", (event) => {
      if (this.socket === socket) {
        this.listener.state(false);
        this.later(event.wasClean);
      }
    });
  }

  private take(message: FeedMessage): void {
    if (message.topic !== undefined && message.position !== undefined) {
      const known = this.positions.has(message.topic);
      this.positions.set(message.topic, message.position);
      if (message.type === "subscribed" && known && (message.is_known === false || (message.missed ?? 0) > 0)) {
        this.listener.gap();
      }
    }
    this.listener.message(message);
  }

  // A refused handshake tells nothing to a page: ask the API, which says why.
  private later(wasClean: boolean): void {
    if (!wasClean) {
      void fetch("/kinds", { headers: token() === "" ? {} : { Authorization: `Bearer ${token()}` } })
        .then((answer) => {
          if (answer.status === 401) {
            askForToken();
          }
        })
        .catch(() => undefined);
    }
    this.timer = window.setTimeout(() => this.connect(), this.pause * (0.75 + Math.random() / 2));
    this.pause = Math.min(this.pause * 2, longestPause);
  }
}
