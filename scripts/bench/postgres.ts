// What PostgreSQL does on this machine for what an admission writes: a conditional update of the budget row and an
// insert of the job row, durable (fsync on), in a throw-away cluster that only a unix socket reaches.
import { execFileSync, spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { rounded } from "../support/statistics.mjs";
import { withTempFolder } from "../support/temp-engine.ts";

const SECONDS = 10;

const SCHEMA = `
  CREATE TABLE budgets (id int PRIMARY KEY, used bigint NOT NULL, held bigint NOT NULL, lim bigint NOT NULL);
  CREATE TABLE jobs (id bigserial PRIMARY KEY, budget int NOT NULL, key text NOT NULL, held bigint NOT NULL,
    lease_expires_at timestamptz NOT NULL, UNIQUE (budget, key));
  CREATE INDEX jobs_by_lease ON jobs (lease_expires_at);
  INSERT INTO budgets VALUES (1, 0, 0, 1000000000000);`;

const UPDATE = "UPDATE budgets SET held = held + 1 WHERE id = 1 AND used + held + 1 <= lim";
const VALUES = "1, gen_random_uuid()::text, 1, now() + interval '2 minutes'";

/** Two ways to write it; the gate is compared with the faster one. */
const SCRIPTS = {
  "transactions a second, four statements": `BEGIN;\n${UPDATE};\nINSERT INTO jobs (budget, key, held, lease_expires_at) VALUES (${VALUES});\nCOMMIT;\n`,
  "transactions a second, one statement": `WITH hold AS (${UPDATE} RETURNING id) INSERT INTO jobs (budget, key, held, lease_expires_at) SELECT ${VALUES} FROM hold;\n`,
};

interface Postgres {
  readonly run: (program: string, args: readonly string[]) => string;
  readonly folder: string;
}

/** Transactions a second with `clients` clients, or one figure that says why there are none. */
export async function benchPostgres(clients: number): Promise<Record<string, number | string>> {
  const programs = findPrograms(["initdb", "pg_ctl", "psql", "pgbench"]);
  if (!programs) return { missing: "initdb, pg_ctl, psql or pgbench is not installed" };
  const user = unprivilegedUser();
  if (!user) return { missing: "PostgreSQL refuses to run as root, and there is no other user" };
  return withTempFolder(async (folder) => {
    const data = join(folder, "postgres");
    mkdirSync(data);
    if (user.uid !== undefined) for (const path of [folder, data]) chownSync(path, user.uid, user.gid ?? 0);
    const run = (program: string, args: readonly string[]) =>
      execFileSync(programs[program] ?? program, args, {
        ...user,
        cwd: folder,
        encoding: "utf8",
        env: { ...process.env, LC_ALL: "C", HOME: folder },
        stdio: ["ignore", "pipe", "ignore"],
      });
    return withCluster({ run, folder }, data, (postgres) => measure(postgres, clients));
  });
}

function withCluster<T>(postgres: Postgres, data: string, work: (postgres: Postgres) => T): T {
  const { run, folder } = postgres;
  run("initdb", ["-D", data, "-U", "bench", "-A", "trust", "--no-sync"]);
  const settings = `-k ${folder} -c listen_addresses='' -c max_connections=100 -c fsync=on -c synchronous_commit=on`;
  run("pg_ctl", ["-D", data, "-w", "-l", join(folder, "postgres.log"), "-o", settings, "start"]);
  try {
    return work(postgres);
  } finally {
    run("pg_ctl", ["-D", data, "-m", "immediate", "-w", "stop"]);
  }
}

function measure({ run, folder }: Postgres, clients: number): Record<string, number> {
  const connection = ["-h", folder, "-U", "bench"];
  run("psql", [...connection, "-d", "postgres", "-q", "-v", "ON_ERROR_STOP=1", "-c", SCHEMA]);
  const rates = Object.entries(SCRIPTS).map(([name, script]) => {
    const file = join(folder, "script.sql");
    writeFileSync(file, script);
    const load = [
      "-c",
      String(clients),
      "-j",
      "2",
      "-T",
      String(SECONDS),
      "-M",
      "prepared",
      "-n",
      "-f",
      file,
    ];
    const report = run("pgbench", [...connection, ...load, "postgres"]);
    const rate = /tps = ([\d.]+)/.exec(report)?.[1];
    if (rate === undefined) throw new Error(`pgbench said: ${report}`);
    return [name, rounded(Number(rate))] as const;
  });
  return Object.fromEntries(rates);
}

/** Where each program is: on the PATH, or where Debian keeps the newest version. Null when one is nowhere. */
function findPrograms(names: readonly string[]): Record<string, string> | null {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian).toSorted((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...versions.map((version) => join(debian, version, "bin")),
    ...(process.env.PATH ?? "").split(delimiter),
  ];
  const found = names.map(
    (name) => [name, folders.map((folder) => join(folder, name)).find(existsSync)] as const,
  );
  if (found.some(([, path]) => path === undefined)) return null;
  return Object.fromEntries(found.map(([name, path]) => [name, path ?? name]));
}

/** PostgreSQL refuses to run as root: then the user its package made, or nobody. */
function unprivilegedUser(): { uid?: number; gid?: number } | null {
  if (process.getuid?.() !== 0) return {};
  for (const name of ["postgres", "nobody"]) {
    const [uid, gid] = ["-u", "-g"].map((flag) =>
      spawnSync("id", [flag, name], { encoding: "utf8" }).stdout.trim(),
    );
    if (uid && gid) return { uid: Number(uid), gid: Number(gid) };
  }
  return null;
}
