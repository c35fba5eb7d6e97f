import type { TestApp } from './posthaste.ts'

/** Moves the clock to the next noon of UTC: far from both ends of a day, whenever the test runs. */
export function toNoon({ clock }: TestApp): void {
  const now = clock.now()
  clock.advance(new Date(now).setUTCHours(36, 0, 0, 0) - now.getTime())
}
