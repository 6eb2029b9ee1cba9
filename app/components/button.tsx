import { LoaderCircle } from "lucide-react";
import Link from "next/link";
import type { ComponentProps, ReactNode } from "react";

export type ButtonLook = "primary" | "secondary" | "ghost" | "danger";
type Size = "md" | "sm";

const BASE =
  "inline-flex cursor-pointer items-center justify-center gap-2 rounded-md font-medium whitespace-nowrap transition-colors select-none disabled:cursor-default disabled:opacity-55 aria-disabled:opacity-55";
const LOOKS: Record<ButtonLook, string> = {
  primary: "border border-transparent bg-accent text-on-accent enabled:hover:bg-accent-strong",
  secondary: "border border-edge/60 bg-card text-ink hover:border-edge hover:bg-sunken",
  ghost: "border border-transparent text-muted hover:bg-sunken hover:text-ink",
  danger: "border border-bad/50 bg-card text-bad hover:bg-bad-soft",
};
const SIZES: Record<Size, string> = { md: "h-9 px-3.5 text-sm", sm: "h-8 px-2.5 text-sm" };

/** The classes of a button, for an element that has to be something else. */
export const buttonClass = (look: ButtonLook = "secondary", size: Size = "md"): string =>
  `${BASE} ${LOOKS[look]} ${SIZES[size]}`;

interface ButtonProps extends Omit<ComponentProps<"button">, "type"> {
  readonly look?: ButtonLook;
  readonly size?: Size;
  readonly type?: "button" | "submit";
  /** Shows that the act is on its way, and keeps a second press from asking for it again. */
  readonly isBusy?: boolean;
}

export function Button({
  look,
  size,
  isBusy = false,
  type,
  children,
  className,
  disabled,
  ...rest
}: ButtonProps) {
  return (
    <button
      {...rest}
      // oxlint-disable-next-line react/button-has-type -- one of two, "button" unless told
      type={type ?? "button"}
      disabled={disabled === true || isBusy}
      className={`${buttonClass(look, size)} ${className ?? ""}`}
    >
      {isBusy && <LoaderCircle aria-hidden className="size-4 animate-spin" />}
      {children}
    </button>
  );
}

/** A square button with an icon. `label` is its name and its tooltip. */
export function IconButton(props: {
  label: string;
  onClick: () => void;
  children: ReactNode;
  disabled?: boolean;
}) {
  return (
    <button
      type="button"
      aria-label={props.label}
      title={props.label}
      onClick={props.onClick}
      disabled={props.disabled}
      className={`${BASE} ${LOOKS.ghost} size-9`}
    >
      {props.children}
    </button>
  );
}

/** A link that looks like a button, to a screen of this site. */
export function ButtonLink(props: { href: string; look?: ButtonLook; size?: Size; children: ReactNode }) {
  return (
    <Link href={props.href} prefetch={false} className={buttonClass(props.look, props.size)}>
      {props.children}
    </Link>
  );
}

export const linkClass =
  "text-accent underline decoration-accent/40 underline-offset-4 hover:decoration-accent";
