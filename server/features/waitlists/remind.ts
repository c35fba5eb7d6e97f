import { html } from '../../base/html.ts'
import { countMessages, enqueueMessage } from '../../delivery/enqueue.ts'
import type { Services } from '../../operations/context.ts'
import { type ListRow, senderOf } from '../lists/index.ts'
import { preferencesUrl } from '../preferences/index.ts'
import { sendConfirmationMail } from '../subscribers/index.ts'
import type { SubscriberRow } from '../subscribers/subscriber.ts'
import { statusUrl } from './waitlist-token.ts'

const kind = 'waitlist_reminder'
const maxPerProject = 2
const maxPerPerson = 10
const dayMs = 24 * 3_600_000

/**
 * Somebody typed an address that is on the list already. The page says the same as to a new one; what is so is told to the mailbox alone:
 * the link to confirm, or the link to see where they stand. A few a day.
 */
export const remind = (
  services: Pick<Services, 'config' | 'secrets' | 'database'>,
  list: ListRow,
  subscriber: SubscriberRow,
): Promise<void> =>
  services.database.transaction(async (tx) => {
    const { project_id } = list
    const since = new Date(tx.now.getTime() - dayMs)
    if (subscriber.email === null || subscriber.email_key === null) return
    if (subscriber.status === 'pending') return sendConfirmationMail(services, tx, { list, subscriber, isCounted: true })
    const toPerson = { kind, since, recipient_key: subscriber.email_key }
    if ((await countMessages(tx, { ...toPerson, project_id })) >= maxPerProject || (await countMessages(tx, toPerson)) >= maxPerPerson)
      return
    const isWaitlist = list.type === 'waitlist'
    const url = isWaitlist ? statusUrl(services, subscriber) : preferencesUrl(services, subscriber)
    const words = isWaitlist ? 'See where you stand, share your link, or leave' : 'See what you get, or change it'
    const opening = isWaitlist
      ? `Somebody, hopefully you, put this address on the waitlist of ${list.name} once more. You are on it already.`
      : `Somebody, hopefully you, subscribed this address to ${list.name} once more. It is subscribed already, and nothing has changed.`
    await enqueueMessage(tx, {
      project_id,
      kind,
      list_id: list.id,
      mail: {
        ...senderOf(list),
        to: subscriber.email,
        subject: isWaitlist ? `Your place on the waitlist: ${list.name}` : `You are subscribed to ${list.name}`,
        text: [opening, `${words}:\n${url}`, list.postal_address].filter(Boolean).join('\n\n'),
        html: html`<p>${opening}</p><p><a href="${url}">${words}</a></p>${list.postal_address ? html`<p>${list.postal_address}</p>` : null}`
          .text,
        headers: { 'Auto-Submitted': 'auto-generated' },
      },
    })
  })
