import { Commands } from "../../text.tsx";
import type { Operation } from "./api-document.ts";
import { Fold } from "./fold.tsx";
import { SchemaFields } from "./schema-fields.tsx";

const TONES: Readonly<Record<string, string>> = { GET: "text-accent", DELETE: "text-bad" };

const KEYS: Readonly<Record<string, string>> = {
  accountKey: "an API key of the account",
  operatorKey: "the operator key",
  session: "the browser's sign-in",
};

/** `callUrl`: what the paths are below, as a caller writes it. */
export function OperationPart(props: { operation: Operation; base: string; callUrl: string }) {
  const { operation, base, callUrl } = props;
  const { id, method, path, summary, description, keys, parameters, body, answers } = operation;
  const head = (
    <div className="flex flex-col gap-x-4 gap-y-0.5 md:flex-row md:items-baseline md:justify-between">
      <h3 className="text-sm font-medium">{summary}</h3>
      <span className="font-mono text-xs break-all text-muted md:shrink-0">
        <span className={TONES[method] ?? "text-good"}>{method}</span> {path}
      </span>
    </div>
  );
  return (
    <Fold id={id} head={head}>
      <p className="font-mono text-sm break-all">
        <a href={`#${id}`} className="hover:underline">
          <span className={TONES[method] ?? "text-good"}>{method}</span> {base}
          {path}
        </a>
      </p>
      <p className="max-w-2xl text-sm text-muted">
        {keys.length === 0
          ? "Open to everybody."
          : `With ${keys.map((key) => KEYS[key] ?? key).join(" or ")}.`}{" "}
        {description.replaceAll("`", "")}
      </p>
      <Commands text={curl(operation, callUrl)} />
      {parameters.length > 0 && (
        <Fields title="Parameters">
          <SchemaFields
            schema={{
              properties: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
              required: parameters.filter(({ required }) => required).map(({ name }) => name),
            }}
          />
        </Fields>
      )}
      {body !== null && (
        <Fields title="Body">
          <SchemaFields schema={body} />
        </Fields>
      )}
      <Fields title="Answers">
        <ul className="flex flex-col gap-3">
          {answers.map(({ status, about, schema }) => (
            <li key={status} className="flex flex-col gap-2 text-sm">
              <p>
                <span className={`font-mono ${status < "400" ? "text-good" : "text-muted"}`}>{status}</span>{" "}
                <span className="text-muted">{about}</span>
              </p>
              {schema !== null && status < "400" && <SchemaFields schema={schema} />}
            </li>
          ))}
        </ul>
      </Fields>
    </Fold>
  );
}

function Fields({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <details className="flex flex-col gap-2">
      <summary className="cursor-pointer text-sm font-medium">{title}</summary>
      <div className="mt-2">{children}</div>
    </details>
  );
}

/** A call as it is typed; capitals stand for what the reader puts in. */
function curl({ method, path, keys, body }: Operation, callUrl: string): string {
  const url = `${callUrl}${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => placeholder(name))}`;
  const lines = [`curl -s ${method === "GET" ? "" : `-X ${method} `}${url}`];
  const key = keys.includes("accountKey") ? "KEY" : "OPERATOR_KEY";
  if (keys.length > 0) lines.push(`-H "authorization: Bearer ${key}"`);
  if (body !== null) {
    const fields = (body.required ?? []).map((name) => `"${name}": …`).join(", ");
    lines.push(`-H "content-type: application/json"`, `-d '{${fields}}'`);
  }
  return lines.join(" \\\n  ");
}

function placeholder(name: string): string {
  return name.replaceAll(/[A-Z]/g, "_$&").toUpperCase();
}
