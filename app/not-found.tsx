import Link from "next/link";

export default function NotFound() {
  return (
    <main id="main" className="mx-auto flex min-h-dvh max-w-3xl flex-col justify-center gap-4 px-5 py-16">
      <p className="font-mono text-sm text-muted">404</p>
      <h1 className="text-3xl font-semibold tracking-tight">There is nothing at this address</h1>
      <p className="text-muted">The page may have moved, or the address has a typing error.</p>
      <p>
        <Link href="/" className="text-accent underline underline-offset-4">
          Go to the start page
        </Link>
      </p>
    </main>
  );
}
