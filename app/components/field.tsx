"use client";

import { type ComponentProps, type ReactNode, useId } from "react";

const BORDERED =
  "w-full min-w-0 rounded-md border border-edge/70 bg-card px-3 text-sm text-ink placeholder:text-muted hover:border-edge aria-invalid:border-bad";
const CONTROL = `h-9 ${BORDERED}`;

interface FieldProps {
  readonly label: string;
  /** What to give, in a few words. */
  readonly hint?: ReactNode;
  /** What is wrong with what was given. */
  readonly error?: string | undefined;
  /** For a control whose place says what it is: the label is there for screen readers only. */
  readonly hideLabel?: boolean;
  readonly className?: string;
}

/** A labelled line of text or a number. */
export function TextField(props: FieldProps & Omit<ComponentProps<"input">, "className">) {
  const { label, hint, error, hideLabel = false, className, ...rest } = props;
  const id = useId();
  return (
    <Labelled {...{ id, label, hint, error, hideLabel, className }}>
      <input
        {...rest}
        id={id}
        aria-invalid={error === undefined ? undefined : true}
        aria-describedby={describedBy(id, hint, error)}
        className={`${CONTROL} ${rest.type === "number" ? "tabular-nums" : ""}`}
      />
    </Labelled>
  );
}

/** A labelled text of several lines. */
export function TextAreaField(props: FieldProps & Omit<ComponentProps<"textarea">, "className">) {
  const { label, hint, error, hideLabel = false, className, ...rest } = props;
  const id = useId();
  return (
    <Labelled {...{ id, label, hint, error, hideLabel, className }}>
      <textarea
        rows={3}
        {...rest}
        id={id}
        aria-invalid={error === undefined ? undefined : true}
        aria-describedby={describedBy(id, hint, error)}
        className={`${BORDERED} resize-y py-2`}
      />
    </Labelled>
  );
}

/** The system's own list: it works with keyboards, readers and on phones as people know it. */
export function SelectField(props: FieldProps & Omit<ComponentProps<"select">, "className">) {
  const { label, hint, error, hideLabel = false, className, children, ...rest } = props;
  const id = useId();
  return (
    <Labelled {...{ id, label, hint, error, hideLabel, className }}>
      <select
        {...rest}
        id={id}
        aria-describedby={describedBy(id, hint, error)}
        className={`${CONTROL} cursor-pointer`}
      >
        {children}
      </select>
    </Labelled>
  );
}

export function CheckField({ label, ...rest }: { label: ReactNode } & Omit<ComponentProps<"input">, "type">) {
  return (
    <label className="flex cursor-pointer items-center gap-2 text-sm">
      <input {...rest} type="checkbox" className="size-4 accent-accent" />
      {label}
    </label>
  );
}

/** One of a few, all of them in sight. */
export function ChoiceField<Value extends string>(props: {
  label: string;
  name: string;
  options: readonly { readonly value: Value; readonly label: string }[];
  value: Value;
  onChange: (value: Value) => void;
}) {
  return (
    <fieldset className="flex min-w-0 flex-col gap-1.5">
      <legend className="mb-1.5 text-sm font-medium">{props.label}</legend>
      <div className="flex flex-wrap gap-2">
        {props.options.map(({ value, label }) => (
          <label
            key={value}
            className="relative inline-flex h-9 cursor-pointer items-center rounded-md border border-edge/60 bg-card px-3 text-sm select-none hover:border-edge hover:bg-sunken has-checked:border-accent has-checked:bg-accent-soft has-checked:font-medium has-checked:text-accent has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent"
          >
            <input
              type="radio"
              name={props.name}
              value={value}
              checked={props.value === value}
              onChange={() => props.onChange(value)}
              className="absolute inset-0 cursor-pointer opacity-0"
            />
            {label}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

interface LabelledProps {
  readonly id: string;
  readonly label: string;
  readonly hint: ReactNode;
  readonly error: string | undefined;
  readonly hideLabel: boolean;
  readonly className: string | undefined;
  readonly children: ReactNode;
}

function Labelled({ id, label, hint, error, hideLabel, className, children }: LabelledProps) {
  return (
    <div className={`flex min-w-0 flex-col gap-1.5 ${className ?? ""}`}>
      <label htmlFor={id} className={hideLabel ? "sr-only" : "text-sm font-medium"}>
        {label}
      </label>
      {children}
      {error !== undefined && (
        <p id={`${id}-error`} role="alert" className="text-sm text-bad">
          {error}
        </p>
      )}
      {hint !== undefined && (
        <p id={`${id}-hint`} className="text-xs text-muted">
          {hint}
        </p>
      )}
    </div>
  );
}

function describedBy(id: string, hint: ReactNode, error: string | undefined): string | undefined {
  const ids = [
    ...(error === undefined ? [] : [`${id}-error`]),
    ...(hint === undefined ? [] : [`${id}-hint`]),
  ];
  return ids.length === 0 ? undefined : ids.join(" ");
}
