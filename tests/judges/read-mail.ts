import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import PostalMime from 'postal-mime'

/** A mail as somebody else's parser sees it. */
export interface ReadMail {
  /** Of all header fields, in order. */
  names: string[]
  subject: string
  from: [name: string, address: string][]
  to: [name: string, address: string][]
  text: string | null
  html: string | null
  defects: string[]
}

export const whyNoPython = (): string | false =>
  spawnSync('python3', ['--version']).status === 0 ? false : 'left out: python3 is not installed (.ci/run installs what is needed)'

interface PythonMail extends Omit<ReadMail, 'text' | 'html'> {
  type: string
  parts: { type: string; content: string }[]
}

export function readWithPython(mails: Buffer[]): ReadMail[] {
  const script = fileURLToPath(new URL('./read-mail.py', import.meta.url))
  const input = JSON.stringify(mails.map((mail) => mail.toString('base64')))
  const { status, stdout, stderr } = spawnSync('python3', [script], { input, encoding: 'utf8', maxBuffer: 2 ** 28 })
  if (status !== 0) throw new Error(`Python could not read the mails: ${stderr}`)
  const contentOf = ({ parts }: PythonMail, type: string) => {
    const found = parts.filter((part) => part.type === type)
    return found.length === 1 ? (found[0]?.content ?? null) : null
  }
  return (JSON.parse(stdout) as PythonMail[]).map((mail) => ({
    ...mail,
    text: contentOf(mail, 'text/plain'),
    html: contentOf(mail, 'text/html'),
  }))
}

export async function readWithPostalMime(mail: Buffer): Promise<ReadMail> {
  const { headers, subject, from, to, text, html, attachments } = await PostalMime.parse(mail)
  return {
    names: headers.map(({ originalKey }) => originalKey),
    subject: subject ?? '',
    from: from ? [[from.name ?? '', from.address ?? '']] : [],
    to: (to ?? []).map(({ name, address }) => [name ?? '', address ?? '']),
    text: text ?? null,
    html: html ?? null,
    defects: attachments.map(({ mimeType }) => `an attachment that nobody sent: ${mimeType}`),
  }
}

/** RFC 5322 sections 2.1.1, 2.2 and 2.2.3, RFC 5321 section 2.3.8: what is wrong with the bytes themselves. */
export function faultsOf(mail: Buffer): string[] {
  const text = mail.toString('latin1')
  const faults: string[] = []
  if (/(?<!\r)\n|\r(?!\n)/.test(text)) faults.push('a bare CR or LF')
  if (text.includes('\0')) faults.push('a NUL')
  const lines = text.split('\r\n')
  for (const line of lines) if (line.length > 998) faults.push(`a line of ${line.length} bytes: ${line.slice(0, 40)}…`)
  for (const line of lines.slice(0, lines.indexOf(''))) {
    if (!/^(?:[!-9;-~]+: ?\S|[ \t]+\S)/.test(line)) faults.push(`no header line: ${line}`)
    // RFC 2047 section 2.
    if (line.includes('=?') && line.length > 76) faults.push(`encoded words on a line of ${line.length} bytes: ${line}`)
  }
  return faults
}
