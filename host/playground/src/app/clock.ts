// The page's clock: the browser's, moved on by whoever lets time pass; and the browser's randomness.

import type { Clock } from "../engine/host.ts";

export class PageClock implements Clock {
  private ahead = 0;

  now = () => Date.now() + this.ahead;
  seed = () => crypto.getRandomValues(new BigUint64Array(1))[0] ?? 0n;
  session = () => `ses_${Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("")}`;

  /** Lets time pass until a moment. */
  until(moment: number) {
    this.ahead += Math.max(0, moment - this.now());
  }
}
