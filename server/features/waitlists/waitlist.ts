import { z } from 'zod'
import { idOf } from '../../base/ids.ts'
import { email, text } from '../../operations/schemas.ts'

export const JoinBody = z.object({
  email: email.optional().meta({ description: 'Double opt-in. Left out, an agent joins as itself' }),
  name: text(200).optional(),
  ref: text(100).optional().meta({ description: 'The referrer’s code. One that nobody has is ignored' }),
})

export const JoinResult = z
  .object({
    status: z.enum(['created', 'exists', 'full', 'invalid']),
    subscriber_id: idOf('sub').nullable(),
    position: z.int().nullable(),
    referral_url: z.string().nullable(),
  })
  .meta({ id: 'JoinResult' })
export type JoinStatus = z.output<typeof JoinResult>['status']

const maxIds = 10_000

export const InviteBody = z.object({
  count: z.int().min(1).max(10_000_000).optional().meta({ description: 'The next so many by position' }),
  subscribers: z
    .array(z.unknown())
    .max(maxIds, `must have at most ${maxIds} items`)
    .pipe(z.array(idOf('sub')))
    .optional()
    .meta({ type: 'array', items: { type: 'string' }, description: 'These. Who does not wait, or has not confirmed, is not counted' }),
  all: z.boolean().optional().meta({ description: 'Everybody who waits and has confirmed' }),
})

export const InviteResult = z.object({ invited: z.int() }).meta({ id: 'InviteResult' })

const Referrer = z.object({
  id: idOf('sub'),
  label: z.string().meta({ description: 'Name, or else the address' }),
  referral_count: z.int().meta({ description: 'People who confirmed' }),
})

export const WaitlistStats = z
  .object({
    total: z.int().meta({ description: 'waiting + invited' }),
    waiting: z.int(),
    invited: z.int().meta({ description: 'Those who accepted, and those who have left since, among them. Who joins again waits again' }),
    accepted: z.int().meta({ description: 'Those who have left since among them' }),
    conversion_rate: z.number().meta({ description: 'accepted / invited; 0 when nobody was invited' }),
    top_referrers: z.array(Referrer),
  })
  .meta({ id: 'WaitlistStats' })

export const LeaderboardEntry = Referrer.extend({
  rank: z.int(),
  position: z.int().nullable().meta({ description: 'Null for who waits no more' }),
}).meta({ id: 'LeaderboardEntry' })
