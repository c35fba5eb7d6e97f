import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import PostalMime, { type Email } from 'postal-mime'
import { compilePost } from '../../server/mail/compile/compile-post.ts'
import type { PostFrame, PostSource, Recipient } from '../../server/mail/compile/index.ts'
import { bodyHash } from '../../server/mail/dkim/canonical.ts'

/** A post, a list around it and a reader, to change one thing of. */
export const somePost: PostSource = { subject: 'News', preview_text: null, html: '<p>Hello</p>', text: null, markdown: null }

export const someFrame: PostFrame = {
  from: { name: 'Ann Lee', address: 'ann@example.com' },
  reply_to: 'desk@example.com',
  list: { name: 'Weekly', id_host: 'weekly.posthaste.test', help_url: null, archive_url: 'https://weekly.posthaste.test/' },
  postal_address: null,
  track_opens: false,
  track_clicks: false,
  urls: {
    unsubscribe: 'https://posthaste.test/u/{token}',
    one_click: 'https://posthaste.test/u/{token}',
    preferences: 'https://posthaste.test/preferences/{token}',
    click: 'https://posthaste.test/c/{token}/{link}',
    open: 'https://posthaste.test/o/{token}.gif',
  },
  mail: { return_path: 'b+{token}@posthaste.test', unsubscribe: 'unsubscribe+{token}@posthaste.test' },
  feedback_id: 'post1:list1:broadcast:posthaste',
  message_id_domain: 'posthaste.test',
  date: new Date('2026-11-15T10:00:00Z'),
}

/** Of a copy whose places all have the same. */
export const tokensOf = (token: string): Recipient['tokens'] => ({ click: token, open: token, unsubscribe: token, return_path: token })

export const someReader: Recipient = {
  tokens: tokensOf('tok3n'),
  email: 'bob@example.org',
  name: 'Bob',
  message_id: '0199-abc',
  values: {},
}

export interface Filled {
  raw: string
  /** The header block, unfolded, one field per element. */
  fields: string[]
  email: Email
  links: string[]
  needs_logic: boolean
}

interface Change {
  post?: Partial<PostSource>
  frame?: Partial<PostFrame>
  reader?: Partial<Recipient>
}

/** Compiles and fills, and checks what must hold of every message. */
export async function fillPost({ post = {}, frame = {}, reader = {} }: Change): Promise<Filled> {
  const { fill, links, needs_logic } = compilePost({ ...somePost, ...post }, { ...someFrame, ...frame })
  const { headers, body, message } = fill({ ...someReader, ...reader })
  assert.deepEqual(message, Buffer.concat([headers, Buffer.from('\r\n'), body]))
  const fields = checkMessage(message)
  for (const line of body.toString('latin1').split('\r\n'))
    assert.ok(line.length <= 76, `a line of ${line.length} letters in the body: ${line}`)
  assert.doesNotMatch(body.toString('latin1'), /[^\0-\x7f]/)
  assert.equal(
    bodyHash(body, { isRelaxed: true }),
    bodyHash(body, { isRelaxed: false }),
    'a post is signed as it is: its lines are relaxed already',
  )
  return { raw: message.toString('latin1'), fields, email: await PostalMime.parse(message), links, needs_logic }
}

/** RFC 5322 and 5321: line ends, line lengths, nothing to stuff, each field once. Answers the fields. */
export function checkMessage(message: Buffer): string[] {
  const raw = message.toString('latin1')
  assert.doesNotMatch(raw, /\r(?!\n)|(?<!\r)\n|\0/, 'only CRLF ends a line')
  assert.ok(raw.endsWith('\r\n'))
  for (const line of raw.split('\r\n')) {
    assert.ok(line.length <= 998, `a line of ${line.length} bytes`)
    assert.ok(!line.startsWith('.'), `a line that begins with a dot: ${line}`)
  }
  const head = message.subarray(0, message.indexOf('\r\n\r\n')).toString('utf8')
  for (const line of head.split('\r\n')) assert.match(line, /\S/, 'no header line of white space alone')
  const fields = head.replace(/\r\n(?=[ \t])/g, '').split('\r\n')
  const names = fields.map((field) => field.slice(0, field.indexOf(':')).toLowerCase())
  assert.deepEqual(names, [...new Set(names)], 'each field once')
  return fields
}

export interface PythonMail {
  subject: string
  from: [name: string, address: string][]
  to: [name: string, address: string][]
  headers: [name: string, value: string][]
  parts: { type: string; charset: string | null; text: string }[]
  defects: string[]
}

/** A second opinion: messages as Python's email module reads them, or null where there is no Python. */
export function readWithPython(messages: Buffer[]): PythonMail[] | null {
  const input = JSON.stringify(messages.map((message) => message.toString('utf8')))
  const result = spawnSync('python3', ['-c', script], { input, maxBuffer: 2 ** 28 })
  if (result.error) return null
  assert.equal(result.status, 0, result.stderr.toString())
  return JSON.parse(result.stdout.toString())
}

const script = `
import sys, json, email, email.header, email.policy, email.utils
def read(text):
  message = email.message_from_string(text, policy=email.policy.SMTPUTF8)
  raw = email.message_from_string(text)
  # Its newer parser leaves the space between two encoded words in a name (CPython issue 92081); the older one knows better.
  name = lambda text: str(email.header.make_header(email.header.decode_header(text)))
  addresses = lambda field: [[name(n), a] for n, a in email.utils.getaddresses([str(v) for v in raw.get_all(field, [])])]
  parts = [p for p in message.walk() if not p.is_multipart()]
  return {
    'subject': str(message['subject']), 'from': addresses('from'), 'to': addresses('to'),
    'headers': [[k, str(v)] for k, v in message.items()],
    'parts': [{'type': p.get_content_type(), 'charset': p.get_content_charset(), 'text': p.get_content()} for p in parts],
    'defects': [repr(d) for p in message.walk() for d in p.defects] + [repr(d) for v in message.values() for d in getattr(v, 'defects', [])],
  }
print(json.dumps([read(text) for text in json.loads(sys.stdin.buffer.read())]))`
