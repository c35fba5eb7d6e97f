import { z } from 'zod'
import { invalid } from '../../base/errors.ts'
import { idOf } from '../../base/ids.ts'
import type { Context } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { formatCursor, Page, pageOf, pageQuery, parseCursor } from '../../operations/page.ts'
import { line, secondsUpTo } from '../../operations/schemas.ts'
import { TagValue } from '../emails/index.ts'
import { reachMailbox } from '../mailboxes/index.ts'
import { Direction, InboxEmailSummary, InboxParams, InboxStatus, type InboxSummaryRow } from './inbox-email.ts'
import { type BoxKey, type InboxFilter, lastPlace, lastPlaceBefore, pageEmails, searchEmails } from './inbox-queries.ts'
import { waitForMail } from './wait-for-mail.ts'

const maxWait = 60

export const listEmails = defineOperation({
  id: 'inbox.list',
  method: 'GET',
  path: '/mailboxes/{mailboxId}/emails',
  scope: 'read',
  mailboxKeys: 'allowed',
  summary: 'What a mailbox received and sent, newest first; or wait for what comes',
  description:
    'With `wait` the answer is what has come in after `cursor`, in the order of arrival: at once when there is something, else as soon as it comes, or an empty array after so many seconds. It always has a `Link` with rel="next", which waits for what comes after that. Without a cursor, mail of the last minute counts as new, so that what was quicker than this request is not missed. Waiting looks at mail that comes in, unless `direction` says otherwise.',
  params: InboxParams,
  query: z.object({
    direction: Direction.optional(),
    status: InboxStatus.optional(),
    tag_name: line(256).optional().meta({ description: 'With tag_value: those that have this tag' }),
    tag_value: TagValue.optional(),
    thread_id: idOf('thr').optional(),
    search: z.string().max(200).optional().meta({
      description:
        'Words, or parts of words, in subject, sender, recipient or text. One request looks through 10,000 e-mails: a page may have fewer than `limit`, or none, and a Link to go on',
    }),
    wait: secondsUpTo(maxWait)
      .optional()
      .meta({ description: `How many seconds to wait for mail, at most ${maxWait}` }),
    ...pageQuery,
  }),
  result: z.array(InboxEmailSummary),
  status: 200,
  errors: ['not_found'],

  async run(context, { params, query: { cursor, limit, wait, tag_name, tag_value, search, ...rest } }) {
    const { project_id } = context.caller
    const from = placeIn(cursor)
    const filter = { ...rest, tag: tagOf(tag_name, tag_value), search: search?.trim() || undefined }
    const { id: mailbox_id } = await reachMailbox(context.database, context.caller, params.mailboxId)
    const box = { project_id, mailbox_id }
    if (wait === undefined && from?.after === undefined)
      return pageBefore(context.database, box, { ...filter, before: from?.before ?? null, limit })
    if (from?.before !== undefined)
      throw invalid('cursor', 'leads to older mail; to wait for new mail, take it from the Link of an answer to wait, or leave it out')
    return waitFrom(context, box, { after: from?.after, filter: { direction: 'inbound', ...defined(filter) }, limit, seconds: wait ?? 0 })
  },
})

async function pageBefore(
  database: Context['database'],
  box: BoxKey,
  { limit, ...wanted }: InboxFilter & { before: string | null; limit: number },
): Promise<Page<InboxSummaryRow>> {
  const positionOf = (row: InboxSummaryRow) => [row.id]
  const { search, status } = wanted
  if (search === undefined && (status === undefined || status === 'received'))
    return pageOf(await pageEmails(database, box, { ...wanted, limit: limit + 1 }), limit, positionOf)
  const { rows, lookedUpTo } = await searchEmails(database, box, { ...wanted, limit: limit + 1 })
  return lookedUpTo === null ? pageOf(rows, limit, positionOf) : new Page(rows, formatCursor([lookedUpTo]))
}

interface Waiting {
  after: number | undefined
  filter: InboxFilter
  limit: number
  seconds: number
}

/** Between asking somebody for a mail and waiting for it lies a moment, in which it may come. */
const recentMs = 60_000

async function waitFrom(context: Context, box: BoxKey, { after, filter, limit, seconds }: Waiting): Promise<Page<InboxSummaryRow>> {
  const { database, clock } = context
  const recent = () => lastPlaceBefore(database, box, new Date(clock.now().getTime() - recentMs))
  const begin = after ?? (await recent()) ?? (await lastPlace(database, box)) ?? 0
  const { rows, next } = await waitForMail(context, box, { ...filter, after: begin, limit, seconds })
  return new Page(rows, formatCursor([`after-${next}`]))
}

const defined = (filter: InboxFilter): InboxFilter => Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))

const position = z.tuple([z.union([z.uuid(), z.string().regex(/^after-\d{1,15}$/)])])

/** A cursor leads to older mail, before an e-mail; or to newer mail, after a place. */
function placeIn(cursor: string | undefined): { before?: string; after?: number } | null {
  const [place] = parseCursor(cursor, position) ?? [null]
  if (place === null) return null
  return place.startsWith('after-') ? { after: Number(place.slice('after-'.length)) } : { before: place }
}

function tagOf(name: string | undefined, value: string | undefined): InboxFilter['tag'] {
  if (name !== undefined && value === undefined) throw invalid('tag_value', 'is missing: tag_name and tag_value go together')
  if (name === undefined && value !== undefined) throw invalid('tag_name', 'is missing: tag_name and tag_value go together')
  return name === undefined || value === undefined ? undefined : { name, value }
}
