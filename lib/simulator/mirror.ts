/** A copy of the committed rows, kept outside of the engine: what each commit changed is read off it. */
import type { Engine } from "../local-convex/engine.ts";
import type { WrittenKeys } from "../local-convex/read-set.ts";

/** A row as it is stored. The checks name the fields that they read. */
export type Row = Readonly<Record<string, unknown>> & { readonly _id: string };

export interface Change {
  readonly table: string;
  readonly id: string;
  readonly before: Row | null;
  readonly after: Row | null;
}

const PAGE_ROWS = 1_000;

export class Mirror {
  private readonly tables = new Map<string, Map<string, Row>>();

  rows(table: string): ReadonlyMap<string, Row> {
    return this.table(table);
  }

  /** What a commit wrote, taken over into the copy. */
  follow({ runtime }: Engine, written: WrittenKeys): Change[] {
    const changes: Change[] = [];
    for (const [space, keys] of written) {
      const table = space < 0 ? runtime.catalog.findByNumber(-space) : null;
      if (table === null) continue;
      for (const key of new Set(keys)) {
        const text = runtime.storage.getDocument(table.number, key);
        const after = text === null ? null : (JSON.parse(text) as Row);
        const id = after?._id ?? this.idOf(table.name, key);
        if (id !== null) this.note(changes, table.name, id, after, key);
      }
    }
    return changes;
  }

  /** All rows as an engine has them that was just opened: what a crash took away is a change like any other. */
  readAll({ runtime }: Engine): Change[] {
    const changes: Change[] = [];
    for (const number of runtime.catalog.tableNumbers) {
      const { name } = runtime.catalog.findByNumber(number)!;
      const gone = new Set(this.table(name).keys());
      for (let from: string | null = ""; from !== null;) {
        const batch = runtime.storage.scanDocuments(number, from, null, "asc", PAGE_ROWS);
        for (const [key, text] of batch) {
          const row = JSON.parse(text) as Row;
          gone.delete(row._id);
          this.note(changes, name, row._id, row, key);
        }
        from = batch.length < PAGE_ROWS ? null : `${batch.at(-1)![0]}\0`;
      }
      for (const id of gone) this.note(changes, name, id, null, null);
    }
    return changes;
  }

  private readonly ids = new Map<string, string>();

  private idOf(table: string, key: string): string | null {
    return this.ids.get(`${table} ${key}`) ?? null;
  }

  private note(changes: Change[], table: string, id: string, after: Row | null, key: string | null): void {
    const rows = this.table(table);
    const before = rows.get(id) ?? null;
    if (after === null) rows.delete(id);
    else {
      rows.set(id, after);
      if (key !== null) this.ids.set(`${table} ${key}`, id);
    }
    if (JSON.stringify(before) !== JSON.stringify(after)) changes.push({ table, id, before, after });
  }

  private table(name: string): Map<string, Row> {
    let rows = this.tables.get(name);
    if (rows === undefined) this.tables.set(name, (rows = new Map()));
    return rows;
  }
}
