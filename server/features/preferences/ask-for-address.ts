import { isDisposable } from '../../mail/disposable-domains.ts'
import type { Services } from '../../operations/context.ts'
import { countAttempt, subscriberToken } from '../subscribers/index.ts'
import { findSuppression } from '../suppressions/index.ts'
import { type Address, type AddressChange, readChange } from './change-address.ts'
import { preferencesBehind } from './find-preferences.ts'
import { timeBytes } from './link-time.ts'
import { sendListMail } from './list-mail.ts'

type Needs = Pick<Services, 'config' | 'secrets' | 'database'>

/** `unreachable`: no mail goes to the address that they have, so that it cannot agree. */
export type AddressAnswer = 'asked' | 'throw_away' | 'same' | 'unreachable' | 'too_often'

const ask = {
  opening: 'Somebody, hopefully you, asked',
  label: 'Open this page within a day and press the button',
}

/**
 * Mail is to go to another address. The link to the preferences is in mail that people pass on, so the mailbox that has the mail now agrees
 * first, then the new one. What is known of the new address is not looked at here. Null when the link is nobody's.
 */
export const askForAddress = (services: Needs, token: string, to: Address): Promise<AddressAnswer | null> =>
  services.database.transaction(async (tx): Promise<AddressAnswer | null> => {
    const preferences = await preferencesBehind(services, tx, token)
    if (!preferences) return null
    const { list, subscriber, is_suppressed } = preferences
    if (is_suppressed) return 'unreachable'
    if (isDisposable(to.key, services.config.DISPOSABLE_DOMAINS)) return 'throw_away'
    if (to.key === subscriber.email_key) return 'same'
    const more = Buffer.concat([timeBytes(tx.now), Buffer.from(to.address)])
    // The page names the new address, not the mail: strangers would use that to put their own words into it.
    const isSent = await sendListMail(tx, list, {
      kind: 'address_consent',
      to: { address: subscriber.email, key: subscriber.email_key },
      subject: `Send ${list.name} to another address?`,
      opening: `${ask.opening} for ${list.name} to be sent to another address, and no more to this one.`,
      link: {
        url: `${services.config.PUBLIC_URL}/preferences/agree/${subscriberToken(services, 'address_consent', subscriber, more)}`,
        label: ask.label,
      },
      closing: 'If it was not you, do nothing: nothing changes. Pass this mail on to nobody: whoever has it can do this in your name.',
    })
    return isSent ? 'asked' : 'too_often'
  })

/** So many an hour: each is a mail to whoever has that address. */
const agreedPerHour = 5

export const findAgreement = (services: Needs & Pick<Services, 'clock'>, token: string): Promise<AddressChange | null> =>
  readChange(services, services.database, { purpose: 'address_consent', token, now: services.clock.now() })

/** The mailbox that has the mail now agrees: the new one is asked. Answers the same whatever is known of that. */
export async function agreeToAddress(services: Needs & Pick<Services, 'clock'>, token: string): Promise<AddressChange | null> {
  const agreed = await findAgreement(services, token)
  if (agreed?.state !== 'open') return agreed
  const { list, subscriber, to } = agreed
  const from = services.secrets.mac('waitlist_peer', `contact:${subscriber.contact_id}`)
  // By itself: whether it counts must not depend on what comes of it, or the limit tells who is suppressed.
  await services.database.transaction((tx) => countAttempt(services, tx, { list, from, asks_for_mail: true, limit: agreedPerHour }))
  await services.database.transaction(async (tx) => {
    if (await findSuppression(tx, list.project_id, to.key)) return
    const more = Buffer.concat([timeBytes(tx.now), Buffer.from(to.address)])
    await sendListMail(tx, list, {
      kind: 'address_change',
      to,
      subject: `Get ${list.name} at this address`,
      opening: `${ask.opening} for ${list.name} to be sent to this address from now on.`,
      link: {
        url: `${services.config.PUBLIC_URL}/preferences/address/${subscriberToken(services, 'address_change', subscriber, more)}`,
        label: ask.label,
      },
      closing: 'If it was not you, do nothing: nothing changes, and you will not hear from us again.',
    })
  })
  return agreed
}
