import { z } from 'zod'

/** Money is counted in thousandths of a dollar; an e-mail over the plan costs three of them. */
export const millsPerEmail = 3
export const dollarsOf = (mills: number): number => mills / 1000
const millsPerCent = 10
const minimumCents = 50

/** Of a month that is over; less than half a cent is nothing. */
export const overageCents = (emails: number): number => Math.round((emails * millsPerEmail) / millsPerCent)
/** Of one request that is paid for at once. Card processors take no less. */
export const priceOf = (emails: number): number => Math.max(minimumCents, Math.ceil((emails * millsPerEmail) / millsPerCent))
export const priceText = `$${dollarsOf(millsPerEmail)} per e-mail, at least $${(minimumCents / 100).toFixed(2)}`

/** What a project may send in a month, and what it costs. */
export interface Plan {
  /** Null: as many as it likes. */
  emails: number | null
  stripe_price: string | null
  price_cents: number | null
}
const emailsOfPlan = z.int('must be a whole number of e-mails').min(0, 'must be at least 0 e-mails').max(1_000_000_000)
const planShape = z.strictObject(
  { emails: emailsOfPlan, stripe_price: z.string().min(1).optional(), price_cents: z.int().min(0).optional() },
  { error: 'must be a number of e-mails, or an object with emails, and perhaps stripe_price and price_cents' },
)

/** PLANS, as it stands in the environment. */
export const plans = z.string().transform((text, context): Record<string, Plan> => {
  const refuse = (problem: string) => {
    context.addIssue({ code: 'custom', message: problem })
    return z.NEVER
  }
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch {
    return refuse('must be JSON, such as {"anonymous":10,"free":100}')
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return refuse('must be a JSON object of plans by name')
  const known: Record<string, Plan> = { unlimited: { emails: null, stripe_price: null, price_cents: null } }
  for (const [name, value] of Object.entries(given)) {
    if (!/^[a-z][a-z0-9_-]{0,49}$/.test(name)) return refuse(`must name plans in small letters, which ${JSON.stringify(name)} is not`)
    if (name === 'unlimited') return refuse('must not say what "unlimited" is')
    const plan = planShape.safeParse(typeof value === 'number' ? { emails: value } : value)
    if (!plan.success) return refuse(`must say what "${name}" is: ${plan.error.issues[0]?.message}`)
    known[name] = { emails: plan.data.emails, stripe_price: plan.data.stripe_price ?? null, price_cents: plan.data.price_cents ?? null }
  }
  const missing = ['anonymous', 'free'].filter((name) => !known[name])
  return missing.length > 0 ? refuse(`must have a plan "${missing.join('" and a plan "')}"`) : known
})
