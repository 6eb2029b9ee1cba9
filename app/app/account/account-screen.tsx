"use client";

import { useQuery } from "convex/react";
import type { FunctionReturnType } from "convex/server";
import type { ReactNode } from "react";
import { api } from "../../../convex/_generated/api";
import { ButtonLink } from "../../components/button.tsx";
import { Panel, ScreenHead } from "../../components/panel.tsx";
import { LoadingNote, Placeholder } from "../../components/states.tsx";
import { Instant, ZoneName } from "../../components/time.tsx";
import { planName } from "../plan/plans.ts";
import { DeleteAccount } from "./delete-account.tsx";
import { ExportData } from "./export-data.tsx";

export type Standing = FunctionReturnType<typeof api.accountDeletion.standing>;

/** Who the account is, a copy of all it has, and its end. */
export function AccountScreen({ signInName }: { signInName: string }) {
  const standing = useQuery(api.accountDeletion.standing, {});
  return (
    <>
      <ScreenHead title="Your data">
        Who you are here, a copy of everything the account has, and how to delete it.
      </ScreenHead>
      <Panel
        id="who"
        title="Who you are"
        aside={
          <ButtonLink href="/app/plan" size="sm">
            Plan and prices
          </ButtonLink>
        }
      >
        {standing === undefined && <LoadingNote what="your account" />}
        <dl className="grid gap-x-8 gap-y-4 text-sm sm:grid-cols-2 lg:grid-cols-3">
          <Fact name="Name">{standing && nameOf(standing, signInName)}</Fact>
          <Fact name="Email">{standing && (standing.email ?? "not told")}</Fact>
          <Fact name="Plan">{standing && planName(standing.planKey)}</Fact>
          <Fact name="Customer since">{standing && <Instant ms={standing.createdAtMs} />}</Fact>
          <Fact name="Time zone of this browser">
            <ZoneName />
          </Fact>
          <Fact name="Account id">
            {standing && <span className="font-mono text-xs">{standing.id}</span>}
          </Fact>
        </dl>
        <p className="text-sm text-muted">
          Name and email come from your sign-in. Change them there; they follow with the next billing event.
        </p>
      </Panel>
      <ExportData />
      {standing !== undefined && <DeleteAccount standing={standing} />}
    </>
  );
}

/** Whoever signed up without a name is called by the email address, which has its own place here. */
function nameOf({ name, email }: Standing, signInName: string): string {
  const known = signInName === "" ? name : signInName;
  return known === email ? "not told" : known;
}

/** Its place is kept until it is known. */
function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex min-w-0 flex-col gap-0.5">
      <dt className="text-muted">{name}</dt>
      <dd className="font-medium break-all">{children ?? <Placeholder />}</dd>
    </div>
  );
}
