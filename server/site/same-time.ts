import { setTimeout as wait } from 'node:timers/promises'

/** Longer than it mostly takes; what takes longer is answered after twice as long, and so on. */
const stepMs = 150

/** From the time of an answer nobody learns whether an address is new, known or unwanted. */
export async function atSameTime<Answer>(work: Promise<Answer>): Promise<Answer> {
  const began = performance.now()
  const [done] = await Promise.allSettled([work])
  await wait(stepMs - ((performance.now() - began) % stepMs))
  if (done.status === 'rejected') throw done.reason
  return done.value
}
