import { type KeyObject, verify } from 'node:crypto'
import { z } from 'zod'

/** What Amazon SNS posts: a notification of a topic, or the question whether we want those of a topic. */
export const SnsMessage = z.object({
  Type: z.enum(['Notification', 'SubscriptionConfirmation', 'UnsubscribeConfirmation']),
  MessageId: z.string(),
  TopicArn: z.string(),
  Subject: z.string().nullish(),
  Message: z.string(),
  Timestamp: z.iso.datetime({ offset: true }),
  SignatureVersion: z.enum(['1', '2']),
  Signature: z.base64(),
  SigningCertURL: z.string(),
  /** Only in confirmations. */
  SubscribeURL: z.string().nullish(),
  Token: z.string().nullish(),
})
export type SnsMessage = z.infer<typeof SnsMessage>

const signedFields = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
  UnsubscribeConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
} as const satisfies Record<SnsMessage['Type'], readonly (keyof SnsMessage)[]>

/** Name and value of each field that is there, a line each, in this order ("Verifying the signatures of Amazon SNS messages"). */
export const signedText = (message: SnsMessage): string =>
  signedFields[message.Type].map((name) => (message[name] == null ? '' : `${name}\n${message[name]}\n`)).join('')

export const isSignedBy = (key: KeyObject, message: SnsMessage): boolean =>
  verify(
    message.SignatureVersion === '1' ? 'sha1' : 'sha256',
    Buffer.from(signedText(message)),
    key,
    Buffer.from(message.Signature, 'base64'),
  )
