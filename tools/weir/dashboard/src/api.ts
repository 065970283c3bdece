// SPDX-License-Identifier: MIT
// Requests to the service. The token, where one is needed, is kept for this tab alone.

const storedToken = "weir.token";

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly member?: string, // of the request, that the error is about
  ) {
    super(message);
  }
}

// What the user is told: fetch() throws a TypeError if there is no answer.
export function messageOf(error: unknown): string {
  return error instanceof TypeError ? "The service cannot be reached." : String((error as Error).message);
}

export function token(): string {
  return sessionStorage.getItem(storedToken) ?? "";
}

export function setToken(value: string): void {
  sessionStorage.setItem(storedToken, value);
}

// Called when the service requires a token, or another one.
export let askForToken: () => void = () => undefined;
export function onTokenNeeded(callback: () => void): void {
  askForToken = callback;
}

// A body that is a string is JSON already.
export async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const text = await askForText(method, path, body);
  return (text === "" ? null : parse(text)) as T;
}

// The response as it was written: numbers of payloads may be too large for JSON.parse().
export async function askForText(method: string, path: string, body?: unknown): Promise<string> {
  const headers: Record<string, string> = { Accept: "application/json" };
  const used = token();
  if (used !== "") {
    headers["Authorization"] = `Bearer ${used}`;
  }
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
  }
  const answer = await fetch(path, {
    method,
    headers,
    body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
  });
  // A late answer says nothing about a token that was entered meanwhile.
  if (answer.status === 401 && used === token()) {
    askForToken();
  }
  const text = await answer.text();
  if (!answer.ok) {
    const { detail, title, member } = (parse(text) ?? {}) as Record<string, unknown>;
    const said = [detail, title].find((each) => typeof each === "string") as string | undefined;
    throw new ApiError(answer.status, said ?? `${answer.status} ${answer.statusText}`, typeof member === "string" ? member : undefined);
  }
  return text;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
