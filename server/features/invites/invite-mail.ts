import { ApiError } from '../../base/errors.ts'
import type { Transaction } from '../../database/database.ts'
import { countMessages } from '../../delivery/enqueue.ts'
import type { Services } from '../../operations/context.ts'
import { findInstance, findUser, sendNotice, type UserRow } from '../identity/index.ts'
import type { InviteRow } from './invite.ts'
import { noteMailed } from './invite-queries.ts'
import { inviteUrl } from './invite-token.ts'

const dayMs = 24 * 3_600_000
/** Nobody is to be bombed with our mail, by however many projects. */
const maxPerDay = 5

/** The mail that asks somebody in. The project's name stays on the page: in the mail it would be a stranger's words under our name. */
export async function mailInvite(services: Pick<Services, 'config' | 'secrets'>, tx: Transaction, invite: InviteRow): Promise<void> {
  await refuseTooMany(tx, invite)
  const inviter = await findUser(tx, invite.user_id)
  const { host } = new URL(services.config.AUTH_URL)
  await sendNotice(services, tx, {
    kind: 'invite',
    to: invite.email,
    subject: 'You are invited to a project',
    parts: [
      `Somebody at ${domainOf(inviter)} invites you to work on a project at ${host}, as ${withArticle(invite.role)}. The page below says who.`,
      { link: inviteUrl(services, invite), label: 'See the invitation' },
      'It is good for 14 days. If you do not know who this is, do nothing: without you, nothing happens.',
    ],
  })
  await noteMailed(tx, invite)
}

/** What stands before the @ can be a sentence of the inviter's own; the domain, as DNS writes it, is what they answer for. */
const domainOf = (inviter: UserRow | null): string => inviter?.email_key?.split('@').at(-1) ?? 'another project'

/** The same invite once more: the mail is repeated, but not before a day has passed. */
export const isMailDue = ({ mailed_at }: InviteRow, now: Date): boolean => mailed_at === null || now.getTime() - mailed_at.getTime() > dayMs

async function refuseTooMany(tx: Transaction, { email_key }: InviteRow): Promise<void> {
  // Two projects that ask one person at the same moment count each other.
  await tx.run`select pg_advisory_xact_lock(hashtextextended(${`invites ${email_key}`}, 0))`
  const instance = await findInstance(tx)
  if (!instance) throw new Error('an invite before the first start')
  const since = new Date(tx.now.getTime() - dayMs)
  const sent = await countMessages(tx, { project_id: instance.owner_project_id, kind: 'invite', recipient_key: email_key, since })
  if (sent < maxPerDay) return
  throw new ApiError('rate_limited', `email: has had ${maxPerDay} invitations within a day, and gets no more. Try again tomorrow.`, {
    headers: { 'retry-after': String(dayMs / 1000) },
  })
}

export const withArticle = (role: string): string => `${/^[aeo]/.test(role) ? 'an' : 'a'} ${role}`
