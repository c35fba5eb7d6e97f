import { addressField, dateText, machineWord, phrase, textField } from './header-fields.ts'
import { type Fixed, type OpenPart, type Recipient, textOf, tokenText } from './part.ts'
import type { PostFrame } from './post-source.ts'

/** The header of each copy: all that is the same is written once, here, and only four fields are written per recipient. */
export function composeHeaders(
  frame: PostFrame,
  subject: OpenPart,
  fixed: Fixed,
  multipart: string | null,
): (recipient: Recipient) => string {
  const subjectField = subjectOf(subject, fixed)
  const from = addressField('From', frame.from.name, frame.from.address)
  const replyTo = frame.reply_to === null ? '' : addressField('Reply-To', null, frame.reply_to)
  const date = `Date: ${dateText(new Date(frame.date))}\r\n`
  const domain = machineWord('The domain of Message-IDs', frame.message_id_domain)
  const unsubscribe = unsubscribeField(frame)
  const rest = listFields(frame) + contentFields(multipart)
  return (recipient) => {
    const { message_id } = recipient
    const id = machineWord('Message-ID', message_id.includes('@') ? message_id : `${message_id}@${domain}`)
    return `${from}${addressField('To', recipient.name, recipient.email)}${replyTo}${subjectField(recipient)}${date}Message-ID: <${id}>\r\n${unsubscribe(recipient)}${rest}`
  }
}

function subjectOf(subject: OpenPart, fixed: Fixed): (recipient: Recipient) => string {
  const isSame = subject.kind === 'slots' && subject.pieces.every((piece) => typeof piece === 'string')
  if (!isSame) return (recipient) => textField('Subject', textOf(subject, recipient, fixed).trim())
  const field = textField('Subject', subject.pieces.join('').trim())
  return () => field
}

/** RFC 8058 section 3.1: one field with one https address; mailto may stand beside it. */
function unsubscribeField(frame: PostFrame): (recipient: Pick<Recipient, 'tokens'>) => string {
  const [url, urlEnd] = checked('one_click', frame.urls.one_click)
  const mailto = frame.mail.unsubscribe && checked('unsubscribe', frame.mail.unsubscribe)
  const hasComplaints = (frame.mail.complaints ?? null) !== null
  return ({ tokens: { unsubscribe, return_path } }) => {
    const byMail = mailto ? `,\r\n <mailto:${mailto[0]}${unsubscribe}${mailto[1]}>` : ''
    return `List-Unsubscribe: <${url}${unsubscribe}${urlEnd}>${byMail}\r\n${hasComplaints ? `CFBL-Feedback-ID: ${return_path}\r\n` : ''}`
  }
}

const checked = (what: string, template: string): readonly [string, string] => tokenText(machineWord(what, template))

function listFields(frame: PostFrame): string {
  const { name, id_host, help_url, archive_url } = frame.list
  const shown = phrase(name)
  const link = (field: string, url: string | null): string => (url === null ? '' : `${field}: <${machineWord(field, url)}>\r\n`)
  const complaints = frame.mail.complaints ?? null
  return [
    'List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n',
    `List-ID: ${shown}${shown.length > 40 ? '\r\n' : ''}${shown === '' ? '' : ' '}<${machineWord('List-ID', id_host)}>\r\n`,
    link('List-Help', help_url),
    link('List-Archive', archive_url),
    'List-Post: NO\r\n',
    `Feedback-ID: ${machineWord('Feedback-ID', frame.feedback_id)}\r\n`,
    complaints === null ? '' : `CFBL-Address: ${machineWord('CFBL-Address', complaints)}; report=arf\r\n`,
  ].join('')
}

/** What makes it a list's mail, for a copy that is composed and not filled in: a test copy. Encoded already; the composer folds it anew. */
export function listFieldsOf(frame: PostFrame, recipient: Pick<Recipient, 'tokens'>): Record<string, string> {
  const fields = `${unsubscribeField(frame)(recipient)}${listFields(frame)}`.replaceAll('\r\n ', ' ').trimEnd()
  return Object.fromEntries(
    fields.split('\r\n').map((field) => {
      const end = field.indexOf(': ')
      return [field.slice(0, end), field.slice(end + 2)]
    }),
  )
}

const contentFields = (multipart: string | null): string =>
  multipart === null
    ? 'MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n'
    : `MIME-Version: 1.0\r\nContent-Type: ${multipart}\r\n`
