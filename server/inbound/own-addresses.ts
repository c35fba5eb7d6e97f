import { type DeliveryPurpose, parseDeliveryToken } from '../base/delivery-token.ts'
import { parseReplyToken } from '../base/reply-token.ts'
import type { Secrets } from '../base/secrets.ts'
import { parseReplyAddress, parseUnsubscribeAddress, parseVerp } from '../mail/verp.ts'

type OwnForm = (secrets: Secrets, address: string) => boolean

const withDeliveryToken =
  (purpose: DeliveryPurpose, parse: (address: string) => string | null): OwnForm =>
  (secrets, address) => {
    const token = parse(address)
    return token !== null && parseDeliveryToken(secrets, purpose, token) !== null
  }

/** Addresses that no mailbox has and that we gave out ourselves, each with a signature that only we can make. */
const forms: Record<string, OwnForm> = {
  return_path: withDeliveryToken('return_path', parseVerp),
  unsubscribe: withDeliveryToken('unsubscribe', parseUnsubscribeAddress),
}

/** The row that a `reply+…@` address names, which may be gone; null for all other addresses. */
export const replyIdIn = (secrets: Secrets, address: string): string | null => parseReplyToken(secrets, parseReplyAddress(address) ?? '')

/** The signature is the proof, not the domain: bounces to a domain that this instance had before still find their way. */
export const isOwnAddress = (secrets: Secrets, address: string): boolean => Object.values(forms).some((isOwn) => isOwn(secrets, address))
