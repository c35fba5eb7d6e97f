import { isDeliveryTokenForm } from '../base/delivery-token.ts'

/**
 * Addresses that say by themselves whom they are about: a bounce is routed by the token in its envelope recipient before a byte of it
 * is parsed. Local parts stay within 64 octets (RFC 5321 section 4.5.3.1.1): the longer prefix has 12, a token 52.
 */
const bouncePrefix = 'b'
const unsubscribePrefix = 'unsubscribe'
const replyPrefix = 'reply'

/** The return path of one message to one recipient (variable envelope return path). */
export const formatVerp = (token: string, host: string): string => `${bouncePrefix}+${token}@${host}`

/** Where mail from a domain of somebody's own comes back to: a name below theirs that leads here, so that SPF vouches for them. */
export const returnHostOf = (domain: string): string => `bounce.${domain}`

/** The mailto: of List-Unsubscribe (RFC 2369). */
export const formatUnsubscribeAddress = (token: string, host: string): string => `${unsubscribePrefix}+${token}@${host}`

/** Where the owner of a proxy mailbox answers somebody outside. */
export const formatReplyAddress = (token: string, host: string): string => `${replyPrefix}+${token}@${host}`

/** The token in lower case, whatever a server on the way made of it, or null. Whether it is genuine only its signature tells. */
export const parseVerp = (address: string): string | null => tokenAfter(bouncePrefix, address)
export const parseUnsubscribeAddress = (address: string): string | null => tokenAfter(unsubscribePrefix, address)
export const parseReplyAddress = (address: string): string | null => wordAfter(replyPrefix, address)

/** A return path of ours somewhere in a text: forwarders wrap it, as in `SRS0=x=y=our.host=b+token@theirs` or `prvs=1=b+token@…`. */
export function findVerp(text: string): string | null {
  for (const [, token] of text.matchAll(/(?:^|[^a-z\d])b\+([a-z\d]{52})(?![a-z\d])/gi)) {
    if (token && isDeliveryTokenForm(token)) return token.toLowerCase()
  }
  return null
}

function tokenAfter(prefix: string, address: string): string | null {
  const token = wordAfter(prefix, address)
  return token !== null && isDeliveryTokenForm(token) ? token : null
}

function wordAfter(prefix: string, address: string): string | null {
  // Quotes around a local part that needs none mean the same (RFC 5321 section 4.1.2).
  const [, local, word] = /^<?"?([a-z]+)\+([a-z\d]+)"?@[^\s<>@]+>?$/i.exec(address.trim()) ?? []
  return local?.toLowerCase() === prefix && word ? word.toLowerCase() : null
}
