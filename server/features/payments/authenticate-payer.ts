import type { Caller, Services } from '../../operations/context.ts'
import { findCallerOfKey } from '../tokens/index.ts'
import { parseCredential } from './payment.ts'
import { findChallengeById } from './payment-queries.ts'
import { isOurs } from './verify-credential.ts'

/**
 * Who sends a payment credential in place of a key: the one whose key the challenge was issued to, while that key is good, and for the
 * operation that it was issued for. What the credential is good for beyond that, `bookEmails` decides.
 */
export const createAuthenticatePayer =
  (services: Pick<Services, 'database' | 'clock' | 'secrets' | 'config'>) =>
  async (text: string, operation: string): Promise<Caller | null> => {
    const credential = services.config.PAYMENTS === 'off' ? null : parseCredential(text)
    if (!credential || !isOurs(services, credential.challenge)) return null
    const challenge = await findChallengeById(services.database, credential.challenge.id)
    if (!challenge?.key_id || challenge.operation !== operation) return null
    return findCallerOfKey(services.database, challenge.project_id, challenge.key_id, services.clock.now())
  }
