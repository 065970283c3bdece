// SPDX-License-Identifier: MIT
// The live feed. Reconnects with its last positions: the service repeats missed messages, or
// reports a gap, and then the page loads everything again.

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
  refused(): void; // for lack of a valid token
  gap(): void; // everything may have changed
  waiting(milliseconds: number): void; // until the next attempt
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
  private task: string | undefined; // the task that is followed

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
      this.subscribe(this.task);
      this.listener.state(true);
    });
    socket.addEventListener("message", (event) => {
      this.take(JSON.parse(String(event.data)) as FeedMessage);
    });
    socket.addEventListener("close", (event) => {
      if (this.socket === socket) {
        void this.later(socket, event.wasClean);
      }
    });
  }

  // Subscribes to all changes of this task, also while the topic of all tasks only has a part of
  // them.
  follow(id: string | undefined): void {
    if (id !== this.task) {
      this.send(this.task && { unsubscribe: `task:${this.task}` });
      this.task = id;
      this.subscribe(id);
    }
  }

  private subscribe(id: string | undefined): void {
    this.send(id && { subscribe: `task:${id}` });
  }

  private send(message: object | string | undefined): void {
    if (message && this.socket?.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify(message));
    }
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

  // A page cannot see why a handshake was refused, so this requests another resource. Without a
  // valid token, a retry cannot succeed; connect() is called when the user has entered another.
  private async later(socket: WebSocket, wasClean: boolean): Promise<void> {
    if (!wasClean) {
      const headers: Record<string, string> = token() === "" ? {} : { Authorization: `Bearer ${token()}` };
      const answer = await fetch("/kinds", { headers }).catch(() => undefined);
      if (this.socket !== socket) {
        return; // connected anew, with another token
      }
      if (answer?.status === 401) {
        this.listener.refused();
        askForToken();
        return;
      }
    }
    this.listener.state(false);
    const pause = this.pause * (0.75 + Math.random() / 2);
    this.listener.waiting(pause);
    this.timer = window.setTimeout(() => this.connect(), pause);
    this.pause = Math.min(this.pause * 2, longestPause);
  }
}
