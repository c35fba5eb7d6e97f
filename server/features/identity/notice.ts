import { html } from '../../base/html.ts'
import type { ProjectId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { countMessages, enqueueMessage } from '../../delivery/enqueue.ts'
import type { Services } from '../../operations/context.ts'
import { findInstance, findOwnerAddress, findOwners } from './identity-queries.ts'

export interface Notice {
  /** What the ledger calls it: `sign_in_code`, `invite`. */
  kind: string
  to: string
  subject: string
  /** Paragraphs, in order. A `code` stands out, a `link` can be pressed. */
  parts: (string | { code: string } | { link: string; label: string })[]
}

/** A mail from the installation itself, to somebody with an account or asked to have one. Never repeats words that a stranger chose. */
export async function sendNotice({ config }: Pick<Services, 'config'>, tx: Transaction, notice: Notice): Promise<void> {
  const instance = await findInstance(tx)
  if (!instance) throw new Error('a notice before the first start')
  const has = (name: string) => notice.parts.some((part) => typeof part === 'object' && name in part)
  await enqueueMessage(tx, {
    project_id: instance.owner_project_id,
    kind: notice.kind,
    isSecret: has('code') || has('link'),
    mail: {
      from: { name: 'Posthaste', address: `posthaste@${config.MAIL_DOMAIN}` },
      to: notice.to,
      reply_to: null,
      subject: notice.subject,
      text: notice.parts.map(asText).join('\n\n'),
      html: html`${notice.parts.map(asHtml)}`.text,
      headers: { 'Auto-Submitted': 'auto-generated' },
    },
  })
}

/**
 * How many of a kind an owner gets in a day. What `returns`, like a zone that comes and goes by the hour, is told of a few times. What is told
 * `once`, each of another thing, would never be heard of if it were left out: only a program in a loop makes so many. What is `scarce` by
 * its nature has no bound.
 */
const maxPerDay = { returns: 10, once: 100, scarce: Number.POSITIVE_INFINITY }
const dayMs = 86_400_000

interface OwnerNotice extends Omit<Notice, 'to'> {
  /** Null: of the installation. */
  project_id: ProjectId | null
  pace?: keyof typeof maxPerDay
}

/** To whoever owns a project, when something happens by itself. Nobody hears of an agent that nobody has claimed, and nobody too often. */
export async function notifyOwner(
  services: Pick<Services, 'config'>,
  tx: Transaction,
  { project_id, pace = 'returns', ...notice }: OwnerNotice,
): Promise<void> {
  const owner = await findOwnerAddress(tx, project_id)
  if (!owner?.email || owner.email_key === null) return
  const most = maxPerDay[pace]
  const since = new Date(tx.now.getTime() - dayMs)
  const sent = await countMessages(tx, { kind: notice.kind, since, recipient_key: owner.email_key })
  if (sent >= most) return
  const isLast = sent + 1 === most
  const parts = isLast
    ? [...notice.parts, `This is the ${most}th notice of its kind within a day: no more are mailed until tomorrow.`]
    : notice.parts
  await sendNotice(services, tx, { ...notice, parts, to: owner.email })
}

/** To everybody who is an owner there, of what happens once by its nature. */
export async function notifyOwners(
  services: Pick<Services, 'config'>,
  tx: Transaction,
  { project_id, ...notice }: Omit<Notice, 'to'> & { project_id: ProjectId },
): Promise<void> {
  for (const { email } of await findOwners(tx, project_id)) await sendNotice(services, tx, { ...notice, to: email })
}

const asText = (part: Notice['parts'][number]): string =>
  typeof part === 'string' ? part : 'code' in part ? part.code : `${part.label}:\n${part.link}`

const asHtml = (part: Notice['parts'][number]) => {
  if (typeof part === 'string') return html`<p>${part}</p>`
  if ('code' in part) return html`<p style="font:700 28px/1.4 ui-monospace,monospace;letter-spacing:.2em">${part.code}</p>`
  return html`<p><a href="${part.link}">${part.label}</a></p>`
}
