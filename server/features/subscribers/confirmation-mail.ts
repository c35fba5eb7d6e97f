import { html } from '../../base/html.ts'
import type { Transaction } from '../../database/database.ts'
import { countMessages, enqueueMessage } from '../../delivery/enqueue.ts'
import type { Services } from '../../operations/context.ts'
import { type ListRow, senderOf } from '../lists/index.ts'
import { refuseTooMany } from './confirmation-budget.ts'
import type { SubscriberRow } from './subscriber.ts'
import { preferencesUrl, subscriberToken } from './subscriber-token.ts'

/** Whoever is added and removed again and again, on whichever lists of whichever projects, is not to be bombed with our mail. */
const maxPerProject = 5
const maxPerPerson = 10
const dayMs = 24 * 3_600_000

interface Asked {
  list: ListRow
  subscriber: SubscriberRow
  /** A stranger asks, whose attempt was counted before: it needs no room in what the project's own keys may ask for. */
  isCounted: boolean
}

/**
 * The double opt-in mail. It never repeats the name that was given for the subscriber: strangers would use that to put their own
 * words into our mail.
 */
export async function sendConfirmationMail(
  services: Pick<Services, 'config' | 'secrets'>,
  tx: Transaction,
  { list, subscriber, isCounted }: Asked,
): Promise<void> {
  const { project_id } = list
  const since = new Date(tx.now.getTime() - dayMs)
  const toPerson = { kind: 'confirmation', recipient_key: subscriber.email_key as string, since }
  if ((await countMessages(tx, { ...toPerson, project_id })) >= maxPerProject) return
  if ((await countMessages(tx, toPerson)) >= maxPerPerson) return
  if (!isCounted) await refuseTooMany(services, tx, project_id)
  const url = `${services.config.PUBLIC_URL}/confirm/${subscriberToken(services, 'confirm', subscriber)}`
  const preferences = preferencesUrl(services, subscriber)
  const words = wordsOf(list)
  const opening = list.confirmation_message ?? words.opening
  const closing = 'If it was not you, do nothing: without your confirmation you will not hear from us again.'
  await enqueueMessage(tx, {
    project_id,
    kind: 'confirmation',
    list_id: list.id,
    mail: {
      ...senderOf(list),
      to: subscriber.email as string,
      subject: words.subject,
      text: [
        opening,
        `To confirm, open this page and press the button:\n${url}`,
        closing,
        `Preferences: ${preferences}`,
        list.postal_address,
      ]
        .filter(Boolean)
        .join('\n\n'),
      html: html`<p>${opening}</p><p><a href="${url}">${words.button}</a></p><p>${closing}</p><p><a href="${preferences}">Preferences</a></p>${list.postal_address ? html`<p>${list.postal_address}</p>` : null}`
        .text,
      // RFC 3834: no vacation notice should answer this.
      headers: { 'Auto-Submitted': 'auto-generated' },
    },
  })
}

const wordsOf = ({ type, name }: ListRow) =>
  type === 'waitlist'
    ? {
        subject: `Confirm your place on the waitlist: ${name}`,
        opening: `Somebody, hopefully you, put this address on the waitlist of ${name}. Your place is kept; you are invited only once you have confirmed.`,
        button: 'Confirm my place',
      }
    : {
        subject: `Confirm your subscription to ${name}`,
        opening: `Somebody, hopefully you, asked for ${name} to be sent to this address.`,
        button: 'Confirm my subscription',
      }
