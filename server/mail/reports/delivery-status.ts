import { classifyFailure, statusIn } from './classify.ts'
import { type Field, fieldValue, readFieldBlocks } from './header-fields.ts'
import { oneLine } from './one-line.ts'
import type { BounceAction, BouncedRecipient } from './report.ts'
import { readReportAddress } from './report-address.ts'

/** RFC 3464 section 2.1: one block about the message, then one for each recipient. A thousand is more than any server reports at once. */
const maxBlocks = 1001
const actions: readonly BounceAction[] = ['failed', 'delayed', 'delivered', 'relayed', 'expanded']

/** Why nothing is to be done, for actions other than failed. */
const calmReasons: Record<Exclude<BounceAction, 'failed'>, string> = {
  delayed: 'Not delivered yet; the other side keeps trying',
  delivered: 'Delivered',
  relayed: 'Passed on to a server that reports nothing back',
  expanded: 'Delivered to a mailing list, which passes it on',
}

/** `notice` is what the report says to people: it fills in where a server left out the reason. */
export function readDeliveryStatus(content: string, notice: string): BouncedRecipient[] {
  const blocks = readFieldBlocks(content, maxBlocks)
  const recipients = blocks.filter((block) => fieldValue(block, 'final-recipient', 'original-recipient', 'action', 'status') !== null)
  return recipients.map((block) => readRecipient(block, recipients.length === 1 ? notice : ''))
}

function readRecipient(block: Field[], notice: string): BouncedRecipient {
  const diagnostic = diagnosticOf(block)
  const status = statusOf(block, diagnostic)
  const action = actionOf(block, status)
  const about = {
    address:
      readReportAddress(fieldValue(block, 'original-recipient')) ??
      readReportAddress(fieldValue(block, 'final-recipient')) ??
      readReportAddress(fieldValue(block, 'x-actual-recipient')),
    action,
    status,
    diagnostic,
  }
  return {
    ...about,
    ...(action === 'failed' ? classifyFailure(status, diagnostic ?? notice) : { class: 'none', reason: calmReasons[action] }),
  }
}

/** "smtp; 550-5.1.1 … 550 5.1.1 …": the type goes, and so do the codes that each line of a wrapped answer repeats. */
function diagnosticOf(block: Field[]): string | null {
  const value = fieldValue(block, 'diagnostic-code', 'x-display-diagnostic', 'x-supplementary-info')
  return value ? oneLine(value.replace(/^\s*[\w-]+\s*;\s*/, '')) : null
}

/** The Status field, unless it is as vague as 5.0.0 and the server's words have a better one of the same class. */
function statusOf(block: Field[], diagnostic: string | null): string | null {
  const given = statusIn(fieldValue(block, 'status') ?? '')
  const told = statusIn(diagnostic ?? '')
  if (!given) return told
  return told && /\.0\.0$/.test(given) && told[0] === given[0] ? told : given
}

function actionOf(block: Field[], status: string | null): BounceAction {
  const written = /^[a-z]+/.exec((fieldValue(block, 'action') ?? '').toLowerCase())?.[0]
  const known = actions.find((action) => action === written)
  return known ?? (status?.startsWith('2') ? 'delivered' : 'failed')
}
