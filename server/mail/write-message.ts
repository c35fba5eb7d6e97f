import * as base64 from 'nodemailer/lib/base64'
import type MimeNode from 'nodemailer/lib/mime-node'
import * as qp from 'nodemailer/lib/qp'

/** More than this in one go would keep the event loop from others for longer than a few milliseconds. */
const mostLetters = 100_000

/**
 * The bytes of a message that nodemailer has put together. Its own way goes through several streams joined by `pipeline`, which outlive
 * young collections together with what the request has made: the whole heap was marked every two seconds, and all mail waited meanwhile.
 * What is of the usual size is written without streams.
 */
export async function writeMessage(root: MimeNode): Promise<Buffer> {
  if (lettersOf(root) > mostLetters) return root.build()
  const message = written(root)
  return Buffer.from(message.endsWith('\r\n') ? message : `${message}\r\n`)
}

/** Attachments are bytes, and for nodemailer to read. */
function lettersOf({ content, childNodes }: MimeNode): number {
  const own = typeof content === 'string' ? content.length : content ? Infinity : 0
  return childNodes.reduce((sum, child) => sum + lettersOf(child), own)
}

/** RFC 2046 section 5.1.1: the line end before a boundary belongs to the boundary. */
function written(node: MimeNode): string {
  const head = `${node.buildHeaders()}\r\n\r\n`
  if (!node.multipart) return head + encoded(node)
  const parts = node.childNodes.map((child) => `--${node.boundary}\r\n${written(child)}`)
  return `${head}${parts.join('\r\n')}\r\n--${node.boundary}--\r\n`
}

function encoded(node: MimeNode): string {
  const text = (node.content ?? '') as string // as `lettersOf` has seen
  const encoding = node.getTransferEncoding()
  if (encoding === 'quoted-printable') return qp.wrap(qp.encode(text))
  return encoding === 'base64' ? base64.wrap(base64.encode(text)) : text
}
