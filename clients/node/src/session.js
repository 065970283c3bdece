// SPDX-License-Identifier: MIT
// One session with the service: polls, heartbeats, results and steps, in the network's thread. Each
// has a loop with one request at a time, and goes on after any error, with growing pauses.
//
// A task keeps its place from the poll's answer until the service has its result, so a worker never
// takes more than it can run and deliver; and heartbeats list it until then, since the service
// gives back what is not listed.
import { Backoff, errorOf, parse, sleep, temporary } from "./http.js";
import { failed, released } from "./outcome.js";

const mostResults = 1000;
const mostBytes = 512 * 1024;

// Wakes whoever waits for a change.
class Changes {
  #waiting = new Set();

  notify() {
    const all = [...this.#waiting];
    this.#waiting.clear();
    all.forEach((wake) => wake());
  }

  wait(seconds) {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = seconds === undefined ? undefined : setTimeout(wake, Math.max(0, seconds * 1000));
      this.#waiting.add(wake);
    });
  }
}

const now = () => performance.now() / 1000;

export class Engine {
  constructor(transport, settings, timing, events) {
    this.transport = transport;
    this.settings = settings; // {name, kinds, queues, places, strays}
    this.timing = timing;
    this.events = events; // tasks(), stop(), registered(), refused(), log()
    this.session = null;
    this.held = new Map(); // "id/run" -> {id, run, session, progress, message, isDone}
    this.outbox = [];
    this.sending = [];
    this.strays = settings.strays ?? 0; // handlers of a session that is over, and that still run
    this.changes = new Changes();
    this.beats = new Changes();
    this.beatAt = 0;
    this.ended = new AbortController();
    this.isDraining = false;
    this.isPolling = false;
    this.resultsFail = false;
    this.polledAt = now();
    this.wasRegistered = false;
    this.#forever(() => this.#beatLoop());
    this.#forever(() => this.#pollLoop());
    this.#forever(() => this.#sendLoop());
  }

  async #forever(loop) {
    const backoff = new Backoff(this.timing.backoffFirst, this.timing.backoffMost);
    while (!this.ended.signal.aborted) {
      try {
        await loop();
      } catch (error) {
        this.events.log("error", `internal error; going on: ${error.stack}`);
        await sleep(backoff.next(), this.ended.signal);
      }
    }
  }

  #ask(session, path, body, timeout, signal) {
    return this.transport.request("POST", `/workers/${session.id}${path}`, body, { timeout, signal });
  }

  #reportFailure(what, error, backoff) {
    this.events.log(backoff.count === 0 ? "warn" : "debug", `${what}: ${error.message}; trying again`);
  }

  // The session and its heartbeats.

  async #beatLoop() {
    const backoff = new Backoff(this.timing.backoffFirst, this.timing.backoffMost);
    while (!this.ended.signal.aborted) {
      const session = this.session;
      if (session === null) {
        if (!(await this.#open(backoff))) {
          await sleep(backoff.next(), this.ended.signal);
        }
      } else if (await this.#beat(session, backoff)) {
        backoff.reset();
        await this.#pauseBetweenBeats(session);
      } else if (!session.isOver) {
        await sleep(Math.min(backoff.next(), session.heartbeat / 2), this.ended.signal);
      }
    }
  }

  async #open(backoff) {
    const askedAt = now();
    const { name, kinds, queues } = this.settings;
    const members = { name, kinds, sdk: "node/0.1.0", ...(queues.length > 0 ? { queues } : {}) };
    try {
      const answer = await this.transport.request("POST", "/workers", JSON.stringify(members), {
        timeout: this.timing.request,
      });
      if (answer.status !== 201) {
        const error = errorOf(answer);
        if (!this.wasRegistered && !temporary.has(answer.status)) {
          this.events.refused(error.status, error.detail);
        }
        throw error;
      }
      const { worker, lease, heartbeat, wait } = parse(answer);
      this.session = {
        id: worker,
        lease,
        heartbeat: this.timing.heartbeat ?? heartbeat,
        wait: this.timing.wait ?? wait,
        poll: 0,
        answered: 0, // the last poll that was; another one is repeated
        isExpired: false,
        isOver: false,
        isDrained: false,
      };
      this.beatAt = now() + this.session.heartbeat;
      this.#renew(this.session, askedAt);
    } catch (error) {
      this.#reportFailure(`cannot register this worker at ${this.transport.url}`, error, backoff);
      return false;
    }
    backoff.reset();
    this.wasRegistered = true;
    this.events.registered(this.session.id);
    this.changes.notify();
    await this.#pauseBetweenBeats(this.session);
    return true;
  }

  // The lease counts from before the request that renewed it was sent.
  #renew(session, askedAt) {
    session.isExpired = false;
    session.leaseUntil = askedAt + session.lease;
    clearTimeout(session.leaseTimer);
    if (this.ended.signal.aborted) {
      return; // answered after the end
    }
    session.leaseTimer = setTimeout(() => this.#leaseRanOut(session), (session.leaseUntil - now()) * 1000);
  }

  #leaseRanOut(session) {
    if (session.isOver || this.ended.signal.aborted) {
      return;
    }
    session.isExpired = true;
    const running = this.#running();
    this.events.log("warn", `no heartbeat was answered for ${session.lease} s: ${running.length} handlers are stopped`);
    this.events.stop(running, released);
  }

  #running() {
    return [...this.held.values()].filter((each) => !each.isDone);
  }

  async #pauseBetweenBeats(session) {
    while (!this.ended.signal.aborted && !session.isOver && this.beatAt > now()) {
      await this.beats.wait(this.beatAt - now());
    }
  }

  // In so many seconds at the latest.
  beatWithin(seconds) {
    if (now() + seconds < this.beatAt) {
      this.beatAt = now() + seconds;
      this.beats.notify();
    }
  }

  async #beat(session, backoff) {
    // What asks for a heartbeat from here on may come too late for this one.
    this.beatAt = now() + session.heartbeat;
    if (this.held.size > 0 && !this.isPolling) {
      this.beatWithin(this.timing.busy);
    }
    const running = [...this.held.values()].map(({ id, run, progress, message }) => ({ id, run, progress, message }));
    const askedAt = now();
    const beat = {
      running,
      free: Math.max(0, this.settings.places - running.length - this.strays),
      poll_age: this.isPolling ? 0 : askedAt - this.polledAt,
      answered_poll: session.answered,
    };
    // Short enough for another try on a new connection before the lease is over.
    const timeout = Math.min(this.timing.request, Math.max(1, session.lease / 4), Math.max(0.2, session.leaseUntil - askedAt));
    let news;
    try {
      const answer = await this.#ask(session, "/heartbeat", JSON.stringify(beat), timeout);
      if (answer.status === 410) {
        this.#sessionOver(session);
        return false;
      }
      if (answer.status !== 200) {
        throw errorOf(answer);
      }
      news = parse(answer);
    } catch (error) {
      this.#reportFailure("heartbeat", error, backoff);
      return false;
    }
    this.#renew(session, askedAt);
    const ours = (entries) => (entries ?? []).map(({ id, run }) => this.held.get(`${id}/${run}`)).filter(Boolean);
    this.events.stop(ours(news.cancel), "cancelled");
    this.events.stop(ours(news.lost), released);
    session.isDrained = news.state === "drain";
    this.changes.notify();
    return true;
  }

  // Unknown to the service, or expired: others may run its tasks by now.
  #sessionOver(session) {
    if (session.isOver) {
      return;
    }
    session.isOver = true;
    clearTimeout(session.leaseTimer);
    const stray = this.#running();
    const lost = this.outbox.length + this.sending.length;
    this.strays += stray.length;
    this.held.clear();
    this.outbox = [];
    this.sending = [];
    this.session = null;
    this.events.log(this.ended.signal.aborted ? "debug" : "warn", `the session is over: ${stray.length} handlers are stopped, ${lost} results lost; beginning anew`);
    this.events.stop(stray, released);
    this.pollAbort?.abort();
    this.beats.notify();
    this.changes.notify();
  }

  // Polls.

  #mayPoll() {
    const { session } = this;
    return session !== null && !this.isDraining && !this.resultsFail && !session.isExpired && !session.isDrained;
  }

  get #free() {
    return this.settings.places - this.held.size - this.strays;
  }

  async #pollLoop() {
    const backoff = new Backoff(this.timing.backoffFirst, this.timing.backoffMost);
    while (!this.ended.signal.aborted) {
      if (this.#free <= 0 || !this.#mayPoll()) {
        await this.changes.wait();
        continue;
      }
      const { session } = this;
      if (session.answered === session.poll) {
        session.poll += 1;
      }
      this.isPolling = true;
      let isGood = false;
      try {
        isGood = await this.#pollOnce(session, backoff);
      } finally {
        this.isPolling = false;
        this.polledAt = now();
        this.changes.notify();
      }
      if (isGood) {
        backoff.reset();
      } else {
        await sleep(session.isOver ? 0.01 : backoff.next(), this.ended.signal);
      }
    }
  }

  async #pollOnce(session, backoff) {
    const began = now();
    const body = JSON.stringify({ poll: session.poll, free: this.#free, wait: session.wait });
    this.pollAbort = new AbortController();
    try {
      const answer = await this.#ask(session, "/poll", body, session.wait + this.timing.readMargin, this.pollAbort.signal);
      if (answer.status === 200) {
        const { tasks } = parse(answer);
        try {
          this.#accept(session, tasks);
        } finally {
          session.answered = session.poll;
        }
        return true;
      }
      if (answer.status === 204) {
        session.answered = session.poll;
        if (now() - began < session.wait * 0.9) {
          // Something has changed: a cancel, a drain. The heartbeat's answer says what.
          this.beatWithin(0);
          return backoff.count > 0 || now() - began > 0.05;
        }
        return true;
      }
      if (answer.status === 410) {
        this.#sessionOver(session);
        return false;
      }
      if (answer.status === 409) {
        session.answered = session.poll; // a later number was seen: go on with the next
        return false;
      }
      throw errorOf(answer);
    } catch (error) {
      this.#reportFailure("poll", error, backoff);
      return false;
    }
  }

  #accept(session, tasks) {
    if (session.isOver) {
      return;
    }
    const fresh = tasks.filter(({ id, run }) => !this.held.has(`${id}/${run}`));
    for (const { id, run } of fresh) {
      this.held.set(`${id}/${run}`, { id, run, session });
    }
    if (fresh.length > 0) {
      this.events.tasks(session.id, fresh);
      // An open poll ends when a task is cancelled. The next may have to wait for a place.
      this.beatWithin(this.timing.busy);
    }
  }

  // Results.

  // {id, run, session, text} of handlers that have ended.
  finish(results) {
    for (const result of results) {
      const entry = this.held.get(`${result.id}/${result.run}`);
      if (entry !== undefined && entry.session.id === result.session) {
        entry.isDone = true;
        this.outbox.push(result);
      } else {
        this.strays = Math.max(0, this.strays - 1); // or of a thread before this one
      }
    }
    this.changes.notify();
  }

  progress({ id, run, fraction, message }) {
    const entry = this.held.get(`${id}/${run}`);
    if (entry !== undefined) {
      entry.progress = fraction;
      entry.message = message || undefined;
      this.beatWithin(this.timing.progress);
    }
  }

  async #sendLoop() {
    while (!this.ended.signal.aborted) {
      if (this.sending.length === 0) {
        let size = 0;
        let count = 0;
        while (count < this.outbox.length && count < mostResults) {
          size += this.outbox[count].text.length + 1;
          if (size > mostBytes && count > 0) {
            break;
          }
          count += 1;
        }
        this.sending = this.outbox.splice(0, count);
      }
      const { session } = this;
      if (this.sending.length === 0 || session === null) {
        await this.changes.wait();
        continue;
      }
      const batch = this.sending;
      await this.#deliver(session, batch);
      if (this.sending === batch) {
        batch.forEach(({ id, run }) => this.held.delete(`${id}/${run}`));
        this.sending = [];
      }
      this.changes.notify();
    }
  }

  // Resolves when the service has decided on each result, or the session is over.
  async #deliver(session, batch) {
    const body = `[${batch.map(({ text }) => text).join(",")}]`;
    const backoff = new Backoff(this.timing.backoffFirst, this.timing.backoffMost);
    while (!this.ended.signal.aborted && !session.isOver) {
      try {
        const answer = await this.#ask(session, "/results", body, this.timing.request);
        if (answer.status === 410) {
          this.#sessionOver(session);
        } else if ([400, 413, 422].includes(answer.status)) {
          await this.#deliverParts(session, batch, errorOf(answer));
        } else if (answer.status !== 200) {
          throw errorOf(answer);
        } else {
          const verdicts = parse(answer);
          batch.forEach(({ id }, index) => {
            if (!verdicts[index]?.accepted) {
              this.events.log("warn", `the result of task ${id} was refused: ${verdicts[index]?.why}`);
            }
          });
        }
        this.resultsFail = false;
        return;
      } catch (error) {
        this.#reportFailure("results", error, backoff);
        this.resultsFail = true; // results first: no polls until they are delivered
        await sleep(backoff.next(), this.ended.signal);
      }
    }
    this.resultsFail = false;
  }

  // One result that the service cannot read or keep must not hold up the others.
  async #deliverParts(session, batch, error) {
    if (batch.length > 1) {
      const middle = batch.length >> 1;
      await this.#deliver(session, batch.slice(0, middle));
      await this.#deliver(session, batch.slice(middle));
      return;
    }
    const [job] = batch;
    this.events.log("error", `the result of task ${job.id} was refused: ${error.message}`);
    if (!job.text.includes('"outcome":"failed"')) {
      const text = failed(job, `the result was refused: ${error.message}`, { permanent: true });
      await this.#deliver(session, [{ ...job, text }]);
    }
  }

  // Steps: resolves with {result}, {refused} or {lost}.

  async keepStep({ id, run, session: sessionId, name, text }) {
    const body = `{"id":${JSON.stringify(id)},"run":${run},"name":${JSON.stringify(name)},"result":${text}}`;
    const backoff = new Backoff(this.timing.backoffFirst, this.timing.backoffMost);
    while (!this.ended.signal.aborted && this.session?.id === sessionId && !this.session.isExpired) {
      try {
        const answer = await this.#ask(this.session, "/steps", body, this.timing.request);
        if (answer.status === 200) {
          return { result: parse(answer).result };
        }
        if (answer.status === 409 || answer.status === 410) {
          break;
        }
        if ([400, 413, 422].includes(answer.status)) {
          return { refused: errorOf(answer).detail };
        }
        throw errorOf(answer);
      } catch (error) {
        this.#reportFailure(`step '${name}'`, error, backoff);
        await sleep(backoff.next(), this.ended.signal);
      }
    }
    return { lost: true };
  }

  // Takes no more tasks, lets handlers end for `limit` seconds, gives the rest back and ends the
  // session. The open poll is not aborted: the service ends it, and what it assigned at the last
  // moment is run.
  async shutDown(limit) {
    const deadline = now() + limit;
    this.isDraining = true;
    this.changes.notify();
    await this.#drain(deadline);
    await this.#until(() => this.held.size === 0, deadline);
    this.events.stop(this.#running(), released);
    await this.#until(() => this.held.size === 0, now() + this.timing.grace);
    await this.#end();
  }

  async #drain(deadline) {
    const backoff = new Backoff(this.timing.backoffFirst, 1);
    while (this.isPolling && this.session !== null && now() < deadline) {
      try {
        const answer = await this.#ask(this.session, "/drain", undefined, Math.min(5, this.timing.request));
        if (!temporary.has(answer.status)) {
          break;
        }
      } catch {
        // again
      }
      await sleep(backoff.next(), this.ended.signal);
    }
    // What the service has just assigned is on its way.
    await this.#until(() => !this.isPolling, Math.min(deadline, now() + 2));
  }

  async #until(condition, deadline) {
    while (!condition() && now() < deadline) {
      await this.changes.wait(deadline - now());
    }
  }

  async #end() {
    const deadline = now() + 5;
    const backoff = new Backoff(this.timing.backoffFirst, 1);
    const { session } = this;
    this.ended.abort(); // first: no loop is to begin anew when the session is over
    this.changes.notify();
    this.beats.notify();
    clearTimeout(session?.leaseTimer);
    while (session !== null && now() < deadline) {
      try {
        const timeout = Math.min(2, this.timing.request);
        const answer = await this.transport.request("DELETE", `/workers/${session.id}`, undefined, { timeout });
        if (!temporary.has(answer.status)) {
          break;
        }
      } catch {
        // again
      }
      await sleep(backoff.next());
    }
  }
}
