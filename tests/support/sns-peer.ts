import { sign } from 'node:crypto'
import { type HttpsPeer, startHttpsPeer } from './https-peer.ts'
import { snsCertificate, snsKey } from './sns-certificate.ts'

export const snsTopic = 'arn:aws:sns:eu-west-1:123456789012:ses-feedback'

export interface SnsPeer extends HttpsPeer {
  /** As SNS_HOST wants it. */
  host: string
  certificate_url: string
  /** Answers every question with a 500 for as long as it is true. */
  isBroken: boolean
}

/** The host of Amazon SNS: its certificate, and the address that confirms a subscription. */
export async function startSnsPeer(): Promise<SnsPeer> {
  const peer = await startHttpsPeer((request, response) => {
    if (state.isBroken) return response.writeHead(500).end()
    const isCertificate = request.url?.endsWith('.pem') === true
    if (request.url === '/SimpleNotificationService-none.pem') return response.end('no certificate')
    response.end(isCertificate ? snsCertificate : '<ConfirmSubscriptionResponse/>')
  })
  const state: SnsPeer = Object.assign(peer, {
    host: new URL(peer.url).host,
    certificate_url: `${peer.url}/SimpleNotificationService-1234.pem`,
    isBroken: false,
  })
  return state
}

export type SnsFields = Record<string, string>

/** A message as SNS posts it. What `changes` says is signed; what `forgery` says is put in afterwards. */
export function snsMessage(peer: SnsPeer, now: Date, changes: SnsFields = {}, forgery: SnsFields = {}): SnsFields {
  const message: SnsFields = {
    Type: 'Notification',
    MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
    TopicArn: snsTopic,
    Message: '{}',
    Timestamp: now.toISOString(),
    SignatureVersion: '1',
    SigningCertURL: peer.certificate_url,
    ...changes,
  }
  // In the order of the alphabet, those that are there: https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html
  const names =
    message.Type === 'Notification'
      ? ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']
      : ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']
  let text = ''
  for (const name of names) if (message[name] !== undefined) text += `${name}\n${message[name]}\n`
  return {
    ...message,
    Signature: sign(message.SignatureVersion === '2' ? 'sha256' : 'sha1', Buffer.from(text), snsKey).toString('base64'),
    ...forgery,
  }
}
