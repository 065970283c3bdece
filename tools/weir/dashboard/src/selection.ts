// SPDX-License-Identifier: MIT
// The selected tasks of the list: by checkbox, and from the last one to this one with shift.

export class Selection {
  private readonly ids = new Set<string>();
  private last: string | undefined;

  get size(): number {
    return this.ids.size;
  }

  has(id: string): boolean {
    return this.ids.has(id);
  }

  clear(): void {
    this.ids.clear();
    this.last = undefined;
  }

  // `shown` are all ids of the list, in its order.
  pick(id: string, isSelected: boolean, isRange: boolean, shown: string[]): void {
    const to = shown.indexOf(id);
    const from = isRange && this.last !== undefined ? shown.indexOf(this.last) : to;
    const range = from < 0 ? [id] : shown.slice(Math.min(from, to), Math.max(from, to) + 1);
    this.set(range, isSelected);
    this.last = id;
  }

  set(ids: string[], isSelected: boolean): void {
    ids.forEach((id) => (isSelected ? this.ids.add(id) : this.ids.delete(id)));
  }

  // Tasks that are not shown any more cannot be judged by the user.
  keepOnly(shown: string[]): void {
    const visible = new Set(shown);
    [...this.ids].filter((id) => !visible.has(id)).forEach((id) => this.ids.delete(id));
  }
}
