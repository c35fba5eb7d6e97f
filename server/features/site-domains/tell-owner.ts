import type { Transaction } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { type Notice, notifyOwner } from '../identity/index.ts'
import type { SiteDomainRow } from './site-domain.ts'

interface Change {
  before: Pick<SiteDomainRow, 'status'>
  after: SiteDomainRow
  /** What is not as it should be, in whole sentences. */
  problems: string[]
}

/** The owner hears when a site is live, when it is not any more, and when it cannot be. */
export async function tellOwner(services: Pick<Services, 'config'>, tx: Transaction, change: Change): Promise<void> {
  const words = wordsFor(change)
  if (words) await notifyOwner(services, tx, { project_id: change.after.project_id, kind: 'site_domain', ...words })
}

function wordsFor({ before, after, problems }: Change): Pick<Notice, 'subject' | 'parts'> | null {
  const { domain, status, trouble } = after
  if (before.status === status) return null
  const fallback = 'The site is still there at its default address.'
  if (status === 'active')
    return {
      subject: `Your site is live at ${domain}`,
      parts: [`Visitors find it at https://${domain} from now on. Links in feeds and mail lead there, too.`],
    }
  if (status === 'pending')
    return before.status === 'active'
      ? {
          subject: `${domain} does not lead to your site any more`,
          parts: [
            `For a day, the DNS of ${domain} has led elsewhere. ${fallback}`,
            ...problems,
            'Once it leads here again, the site is live again by itself.',
          ],
        }
      : null
  if (trouble === 'moved')
    return {
      subject: `${domain} has moved to another project`,
      parts: [`Another project on this server has shown by a DNS record that ${domain} is theirs, and has connected it. ${fallback}`],
    }
  return {
    subject: `${domain} could not be connected to your site`,
    parts: [
      trouble === 'orders'
        ? `Five orders for its certificate have come to nothing. ${fallback}`
        : `Within seven days it did not work. ${fallback}`,
      ...problems,
      'Mend that and ask for a check of the site’s domain.',
    ],
  }
}
