import MailComposer from 'nodemailer/lib/mail-composer'
import PostalMime from 'postal-mime'
import { systemClock } from '../server/base/clock.ts'
import { compilePost, previewOf } from '../server/mail/compile/compile-post.ts'
import type { PostFrame, PostSource, Recipient } from '../server/mail/compile/index.ts'
import { generateDkimKey } from '../server/mail/dkim/keys.ts'
import { createDkimSigner } from '../server/mail/dkim/sign.ts'
import { machine, median, report } from './support.ts'

/** `npm run bench -- compile`: a newsletter of 30 kB with 20 counted links and a greeting, filled for one recipient after another. */
export async function run(): Promise<void> {
  console.log(`\nFilling a post for each recipient, on ${machine()}`)
  const post = compilePost(source, frame)
  const { message } = post.fill(recipientOf(0))
  console.log(`  ${(message.length / 1000).toFixed(1)} kB on the wire, ${post.links.length} links`)
  const ours = await rate((n) => post.fill(recipientOf(n)))
  const { html, text } = previewOf(source, frame, recipientOf(0))
  const theirs = await rate((n) => compose(recipientOf(n), html as string, text))
  const logic = compilePost({ ...source, html: `{% if name %}<p>Hello!</p>{% endif %}${source.html}` }, frame)
  const liquid = await rate((n) => logic.fill(recipientOf(n)))
  console.log(`  with logic, run for each recipient: ${perSecond(liquid)}`)
  console.log(`  nodemailer's MailComposer: ${perSecond(theirs)}`)
  report('filled', perSecond(ours), 'more than 30,000/s on one core', ours > 30_000)
  report('against nodemailer building the same message', `${(ours / theirs).toFixed(0)} ×`, 'at least 10 ×', ours / theirs >= 10)
  for (const algorithm of ['rsa-sha256', 'ed25519-sha256'] as const) {
    const { sign } = createDkimSigner({ domain: 'example.com', keys: [await generateDkimKey(algorithm, 'bench')], clock: systemClock })
    const signed = await rate(async (n) => {
      const filled = post.fill(recipientOf(n))
      await sign(filled.headers, filled.body)
    })
    console.log(`  filled and signed with ${algorithm}: ${perSecond(signed)}`)
  }
}

const perSecond = (count: number): string => `${Math.round(count).toLocaleString('en')}/s`

/** Turns per second of processor time, which other programs on the machine do not change: the median of five rounds after one to warm up. */
async function rate(work: (n: number) => unknown, together = 20): Promise<number> {
  const rounds: number[] = []
  for (let round = 0; round < 6; round++) {
    const start = performance.now()
    const before = process.cpuUsage()
    let n = 0
    while (performance.now() - start < 1000) {
      const turn = Array.from({ length: together }, () => work(n++))
      if (turn[0] instanceof Promise) await Promise.all(turn)
    }
    const { user, system } = process.cpuUsage(before)
    if (round > 0) rounds.push((n * 1e6) / (user + system))
  }
  return median(rounds)
}

const recipientOf = (n: number): Recipient => ({
  tokens: tokensOf(String(n).padStart(49, 'a')),
  email: `reader${n}@example.org`,
  name: `Reader ${n}`,
  message_id: `0199${n}`,
  values: {},
})

/** What a recipient would read, links that are counted and all, for whoever puts mail together by other means: the first one's with another name and token. */
export async function finishedNewsletter(): Promise<(n: number) => { subject: string; html: string; text: string }> {
  const first = recipientOf(0)
  const { html = '', text = '' } = await PostalMime.parse(compilePost(source, frame).fill(first).message)
  return (n) => {
    const { name, tokens } = recipientOf(n)
    const personal = (body: string) =>
      (['click', 'open', 'unsubscribe'] as const).reduce(
        (filled, kind) => filled.replaceAll(first.tokens[kind], tokens[kind]),
        body.replace(first.name as string, name as string),
      )
    return { subject: source.subject, html: personal(html), text: personal(text) }
  }
}

const tokensOf = (token: string): Recipient['tokens'] => ({
  click: `c1d${token}`,
  open: `o2e${token}`,
  unsubscribe: `u3f${token}`,
  return_path: `b4g${token}`,
})

const compose = ({ name, email }: Recipient, html: string, text: string): Promise<Buffer> =>
  new MailComposer({
    from: { name: 'Ann Lee', address: 'ann@example.com' },
    to: { name: name ?? '', address: email },
    subject: source.subject,
    html,
    text,
    headers: { 'List-Unsubscribe': '<https://news.example.com/u/x>', 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
  })
    .compile()
    .build()

const cell =
  'padding:16px 24px;font-family:Helvetica,Arial,sans-serif;font-size:16px;line-height:24px;color:#333333;border-bottom:1px solid #eeeeee'
const button =
  'display:inline-block;padding:12px 24px;background-color:#0b5fff;color:#ffffff;text-decoration:none;border-radius:6px;font-weight:bold'
const story = (n: number): string => `<table role="presentation" width="600" align="center" cellpadding="0" cellspacing="0" border="0">
<tr><td style="${cell}"><h2 style="margin:0 0 8px;font-size:20px;line-height:28px;color:#111111">Story number ${n}</h2>
<p style="margin:0 0 16px">${'The quick brown fox jumps over the lazy dog, and then it does so again. '.repeat(6)}</p>
<a href="https://example.com/article/${n}?ref=news" style="${button}">Read more</a></td></tr>
</table>
`

/** 30 kB, 20 links, a greeting. */
export const source: PostSource = {
  subject: 'Twenty things to read this week',
  preview_text: 'And one of them is about foxes',
  html: `<p>Hello {{ name | default: "friend" }},</p>\n${Array.from({ length: 20 }, (_, n) => story(n)).join('')}`,
  text: null,
  markdown: null,
}

const frame: PostFrame = {
  from: { name: 'Ann Lee', address: 'ann@example.com' },
  reply_to: null,
  list: { name: 'Weekly', id_host: 'weekly.example.com', help_url: null, archive_url: null },
  postal_address: '1 Main Street, Springfield',
  track_opens: true,
  track_clicks: true,
  urls: {
    unsubscribe: 'https://news.example.com/u/{token}',
    one_click: 'https://news.example.com/u/{token}',
    preferences: 'https://news.example.com/preferences/{token}',
    click: 'https://news.example.com/c/{token}/{link}',
    open: 'https://news.example.com/o/{token}.gif',
  },
  mail: { return_path: 'b+{token}@news.example.com', unsubscribe: 'unsubscribe+{token}@news.example.com' },
  feedback_id: 'post1:list1:broadcast:posthaste',
  message_id_domain: 'news.example.com',
  date: new Date('2026-11-15T10:00:00Z'),
}
