import { Readable } from 'node:stream'
import { z } from 'zod'
import { invalid } from '../../base/errors.ts'
import type { Context } from '../../operations/context.ts'
import { defineOperation, fileOf } from '../../operations/define-operation.ts'
import { presenterOf } from '../../operations/present.ts'
import { secondsUpTo } from '../../operations/schemas.ts'
import { reachMailbox } from '../mailboxes/index.ts'
import { InboxEmailSummary, InboxParams, type InboxSummaryRow } from './inbox-email.ts'
import { type BoxKey, emailsAfter, lastPlace } from './inbox-queries.ts'
import { type Watch, watchMailbox } from './mail-watch.ts'

/** Clients come back by themselves, and are asked for their key again then. */
const maxSeconds = 3_600
/** Proxies end connections on which nothing moves, most of them after a minute. */
const beatMs = 15_000
const batch = 100

export const streamEmails = defineOperation({
  id: 'inbox.stream',
  method: 'GET',
  path: '/mailboxes/{mailboxId}/emails/stream',
  scope: 'read',
  mailboxKeys: 'allowed',
  summary: 'What a mailbox receives and sends, as it happens',
  description:
    'Server-sent events: `email.received` and `email.sent`, each with the e-mail’s summary. A client that comes back with `Last-Event-ID` misses nothing; without it the stream begins now. It ends after `seconds`, or when the key does.',
  params: InboxParams,
  query: z.object({
    seconds: secondsUpTo(maxSeconds)
      .default(maxSeconds)
      .meta({ description: `At most ${maxSeconds}` }),
  }),
  result: fileOf('text/event-stream'),
  status: 200,
  errors: ['not_found'],

  async run(context, { params, query }) {
    const { project_id, id: mailbox_id } = await reachMailbox(context.database, context.caller, params.mailboxId)
    const box = { project_id, mailbox_id }
    const after = placeOf(context) ?? (await lastPlace(context.database, box)) ?? 0
    const ended = context.request.patience?.ended() ?? AbortSignal.timeout(query.seconds * 1000)
    // Here already: when too many wait, that is an answer and no stream.
    const watch = watchMailbox(context.database, context.caller, { mailbox_id, ended })
    return {
      content_type: 'text/event-stream; charset=utf-8',
      headers: { 'cache-control': 'no-store', 'x-accel-buffering': 'no', connection: 'close' },
      body: Readable.from(events(context, { box, after, watch, seconds: query.seconds })),
    }
  },
})

function placeOf({ request }: Context): number | null {
  const given = request.patience?.last_event_id ?? null
  if (given === null) return null
  if (!/^\d{1,15}$/.test(given)) throw invalid('Last-Event-ID', 'is not the id of an event of this stream; leave it out to begin now')
  return Number(given)
}

interface Following {
  box: BoxKey
  after: number
  watch: Watch
  seconds: number
}

async function* events(context: Context, { box, after, watch, seconds }: Following): AsyncGenerator<string> {
  const deadline = performance.now() + seconds * 1000
  yield 'retry: 2000\n\n'
  for (let last = after; !watch.isOver(); ) {
    if ((await context.request.patience?.isStillGood()) === false) return
    const rows = await emailsAfter(context.database, box, { after: last, limit: batch })
    for (const row of rows) yield eventOf(row)
    last = rows.at(-1)?.position ?? last
    const leftMs = deadline - performance.now()
    if (leftMs <= 0) return
    if (rows.length === batch) continue
    const restMs = Math.min(beatMs, leftMs)
    const began = performance.now()
    await watch.rest(restMs)
    if (restMs === beatMs && performance.now() - began >= beatMs) yield ': still here\n\n'
  }
}

const present = presenterOf(InboxEmailSummary)

/** JSON has no line breaks of its own, so that an event is three lines whatever strangers write. */
const eventOf = (row: InboxSummaryRow): string =>
  `id: ${row.position}\nevent: ${row.direction === 'inbound' ? 'email.received' : 'email.sent'}\ndata: ${JSON.stringify(present(row))}\n\n`
