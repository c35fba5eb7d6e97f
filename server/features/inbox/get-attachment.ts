import { z } from 'zod'
import { ApiError, notFound } from '../../base/errors.ts'
import { defineOperation, fileOf } from '../../operations/define-operation.ts'
import { disposition, untrusted } from './downloads.ts'
import { InboxEmailParams } from './inbox-email.ts'
import { reachEmail } from './reach-email.ts'
import { readInThread, readRaw } from './read-raw.ts'

export const getAttachment = defineOperation({
  id: 'inbox.attachment',
  method: 'GET',
  path: '/mailboxes/{mailboxId}/emails/{emailId}/attachments/{number}',
  scope: 'read',
  mailboxKeys: 'allowed',
  summary: 'An attachment of a received e-mail',
  description: 'Pictures and PDF files come as what they are; everything else is application/octet-stream, to be saved.',
  params: InboxEmailParams.extend({
    number: z
      .string()
      .regex(/^[1-9]\d{0,3}$/)
      .meta({ description: 'Its `number` among the attachments of the e-mail' }),
  }),
  result: fileOf('application/octet-stream'),
  status: 200,
  errors: ['not_found'],

  async run(context, { params }) {
    const email = await reachEmail(context, params)
    const number = Number(params.number)
    // Known from the row: who asks for what is not there costs no parsing.
    if (!email.attachments.some((one) => one.number === number)) throw notFound('attachment')
    const raw = await readRaw(context, email)
    const attachment = await readInThread(context.reader.attachment(context.caller.project_id, raw, number), tooMuch)
    if (!attachment) throw notFound('attachment')
    const { about, bytes } = attachment
    return { ...shownAs(about.content_type, about.filename), body: bytes }
  },
})

const tooMuch = (): never => {
  throw new ApiError(
    'not_found',
    'This attachment cannot be taken out of its message, which takes more time or memory than a message may. The message itself can be downloaded: see /raw.',
  )
}

/** SVG is not among them: it is a document that runs scripts. */
const pictures = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'])

function shownAs(content_type: string, filename: string) {
  const isPicture = pictures.has(content_type)
  const isPdf = content_type === 'application/pdf'
  return {
    content_type: isPicture || isPdf ? content_type : 'application/octet-stream',
    headers: {
      ...untrusted,
      // The viewer that browsers have for PDF files is not let into a sandbox.
      ...(isPdf ? { 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'" } : {}),
      'content-disposition': disposition(isPicture || isPdf ? 'inline' : 'attachment', filename),
    },
  }
}
