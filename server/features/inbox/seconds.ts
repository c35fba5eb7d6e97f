import { z } from 'zod'

/** Numbers in a query arrive as text, so a sign, a fraction or a letter is refused here. */
export const secondsUpTo = (max: number) =>
  z.preprocess(
    (given) => (given === undefined || /^\d{1,6}$/.test(String(given)) ? given : Number.NaN),
    z.coerce
      .number({ error: `must be a whole number of seconds from 0 to ${max}` })
      .int()
      .max(max, `must be at most ${max}`),
  )
