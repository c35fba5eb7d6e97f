import type { Transaction } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { type Notice, notifyOwner } from '../identity/index.ts'
import { wayOutOfTaken } from './next-step.ts'
import type { SenderRecord } from './records.ts'
import { isLost, type SenderDomainRow } from './sender-domain.ts'

interface Change {
  before: Pick<SenderDomainRow, 'status' | 'failing_since'>
  after: SenderDomainRow
  wanted: SenderRecord[]
}

/** The owner hears when a domain is verified, when it has failed, and when a verified one begins to lack something. */
export async function tellOwner(services: Pick<Services, 'config'>, tx: Transaction, change: Change): Promise<void> {
  const words = wordsFor(change)
  if (!words) return
  await notifyOwner(services, tx, { project_id: change.after.project_id, kind: 'sender_domain', ...words })
}

function wordsFor({ before, after, wanted }: Change): Pick<Notice, 'subject' | 'parts'> | null {
  const { domain } = after
  const seen = problemsOf(after, wanted)
  if (before.status !== 'verified' && after.status === 'verified')
    return {
      subject: `${domain} is verified`,
      parts: [
        `The DNS records of ${domain} are all there. From the next post on, your lists send from it.`,
        'For two weeks a new domain sends little at first and more each day: receivers have to get to know it. A larger post is spread over days.',
      ],
    }
  if (before.status !== 'failed' && after.status === 'failed')
    return {
      subject: `${domain} cannot be used to send mail`,
      parts: [
        isLost(after)
          ? `DNS records of ${domain} have been missing for a day. Posts of its lists wait until they are back, or until you choose another sender.`
          : `${whyFailed(after)} Your lists go on sending from their default addresses.`,
        ...seen,
        'Mend that and ask for a check of the sender.',
      ],
    }
  if (after.status === 'verified' && before.failing_since === null && after.failing_since !== null)
    return {
      subject: `A DNS record of ${domain} is missing`,
      parts: ['Mail still goes out. If it stays like this for a day, posts will wait.', ...seen],
    }
  return null
}

const whyFailed = ({ domain, trouble }: SenderDomainRow): string =>
  trouble === 'taken'
    ? `The DNS records of ${domain} are right, but ${wayOutOfTaken(domain)}`
    : `The DNS records of ${domain} were not found as they should be.`

const problemsOf = ({ findings }: SenderDomainRow, wanted: SenderRecord[]): string[] =>
  wanted.flatMap(({ key, isRequired }) => (isRequired ? (findings.findings?.[key]?.problem ?? []) : []))
