import type { Metadata } from "next";
import Link from "next/link";
import { linkClass } from "../../../components/button.tsx";
import { Code, List, Part, Text } from "../../text.tsx";
import { DocsHead } from "../docs-head.tsx";
import evidence from "./evidence.json" with { type: "json" };
import { EvidencePart } from "./evidence-part.tsx";
import { ABOUT } from "./about.ts";

export const metadata: Metadata = { title: "How we know" };

const CHECKED_ALWAYS = [
  "thousands of tests; a test's name is the guarantee it gives",
  "the simulator, with fixed seeds and with seeds that nobody has tried",
  "the attack suite: foreign ids on every route and function, forged tokens, bent requests, secrets in logs",
  "the screens in a browser: first minute, both roles, phone width, axe in both themes",
] as const;

export default function HowWeKnowPage() {
  return (
    <>
      <DocsHead title="How we know">
        Each promise has a program that tries to break it, and you can run all of them. The figures below are
        their last saved results, with the command, the day and the commit.
      </DocsHead>
      <Part id="always" title="On every change">
        <Text>
          <Code>npm run check</Code> runs:
        </Text>
        <List>
          {CHECKED_ALWAYS.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </List>
        <Text>
          Long runs are commands of their own. Machines differ and are shared: compare the figures of one run
          with each other, not with those of another day. The promises themselves are under{" "}
          <Link href="/docs/concepts" prefetch={false} className={linkClass}>
            Concepts
          </Link>
          .
        </Text>
      </Part>
      {ABOUT.map(({ id, title, about }) => {
        const found = evidence.find((each) => each.id === id);
        return (
          found && (
            <Part key={id} id={id.replace(":", "-")} title={title}>
              <Text>{about}</Text>
              <EvidencePart evidence={found} />
            </Part>
          )
        );
      })}
    </>
  );
}
