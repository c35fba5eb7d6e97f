import PostalMime, { type Email } from 'postal-mime'
import type { ReceivedMessage, SmtpPeer } from './smtp-peer.ts'
import { until } from './until.ts'

/** What the peer accepted for an address so far. */
export const mailsTo = (peer: SmtpPeer, address: string): ReceivedMessage[] =>
  peer.messages.filter((message) => message.to.includes(address))

/** The first mail to an address, once it is there. */
export async function mailTo(peer: SmtpPeer, address: string): Promise<Email & { message: ReceivedMessage }> {
  const message = await until(`a mail to ${address}`, () => mailsTo(peer, address)[0])
  return { ...(await PostalMime.parse(message.raw)), message }
}

/** The link that a person would press in a mail that has one, beside that to their preferences. */
export function linkIn(mail: Email): string {
  const all = `${mail.text} ${mail.html}`.match(/https?:\/\/[\w.:/%?=&-]+/g) ?? []
  const links = new Set(all.filter((link) => !link.includes('/preferences/')))
  if (links.size !== 1) throw new Error(`The mail has not one link but ${links.size}: ${[...links].join(' ')}`)
  return [...links][0] as string
}
