/** How likely trouble is, at every place where there can be some. Read at each use, so it can be called off. */
export interface Faults {
  /** A commit is told that it lost, although it did not. */
  conflict: number;
  /** A syscall of a transaction takes up to this long, so that transactions overlap. */
  syscallMsMax: number;
  /** A call of our server never arrives, or its answer never comes back. */
  lostRequest: number;
  lostReply: number;
  /** A request to the provider fails in one way or another. */
  provider: number;
  /** A webhook comes again, much later, or never. */
  webhook: number;
}

export const TROUBLE: Readonly<Faults> = {
  conflict: 0.03,
  syscallMsMax: 3,
  lostRequest: 0.02,
  lostReply: 0.03,
  provider: 0.15,
  webhook: 0.4,
};

export const CALM: Readonly<Faults> = {
  conflict: 0,
  syscallMsMax: 1,
  lostRequest: 0,
  lostReply: 0,
  provider: 0,
  webhook: 0,
};
