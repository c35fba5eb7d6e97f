import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { emailsIn, fileMail } from '../../../tests/support/inbound.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newSentPost, type TestRecipient } from '../../../tests/support/recipients.ts'
import { assertCounts } from '../../../tests/support/subscribers.ts'
import { formatId } from '../../base/ids.ts'

const app = await startApp()

const folder = new URL('./fixtures/', import.meta.url)
/** A reply that asks to be left alone, as mail programs write it. */
const programs = readdirSync(folder).filter((name) => name.startsWith('stop-'))
/** Programs that quote no link, neither in the text nor in HTML. */
const quoteNoLink = ['stop-android-bare.eml', 'stop-outlook-plain.eml']

interface Reply {
  by: string
  list: string
  message_id: string
  unsubscribe: string
}

function replyOf(program: string, { by, list, message_id, unsubscribe }: Reply): string {
  const link = `${app.url}/u/${unsubscribe}`
  const values: Record<string, string> = { reader: by, list, message_id, link, encoded_link: encodeURIComponent(link) }
  return readFileSync(new URL(program, folder), 'utf8')
    .replace(/\{\{(\w+)\}\}/g, (_, name: string) => values[name] as string)
    .replace(/\r?\n/g, '\r\n')
}

const nameOf = ({ id }: TestRecipient) => `${formatId('dlv', id)}@posthaste.test`
const forged = (token: string) => `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`

test('every mail program is understood: by the mail that the reply names, or by the link that it quotes', async () => {
  assert.ok(programs.length >= 6)
  for (const program of programs) {
    const { project, list, recipients } = await newSentPost(app, { subscribers: 2 })
    const [one, two] = recipients as [TestRecipient, TestRecipient]
    const say = (who: TestRecipient, reply: Omit<Reply, 'by' | 'list'>) =>
      fileMail(app, {
        recipients: [list.mailbox_address],
        envelope_from: who.email,
        raw: replyOf(program, { by: who.email, list: list.mailbox_address, ...reply }),
      })
    await say(one, { message_id: nameOf(one), unsubscribe: forged(one.tokens.unsubscribe) })
    assert.deepEqual(await project.events(), ['subscriber.unsubscribed', 'email.received'], `${program}, named`)
    // What a relay has renamed is known by what is quoted only.
    const isKnown = !quoteNoLink.includes(program)
    await say(two, { message_id: '0102@eu-west-1.amazonses.com', unsubscribe: two.tokens.unsubscribe })
    assert.deepEqual(
      await project.events(),
      isKnown ? ['subscriber.unsubscribed', 'email.received'] : ['email.received'],
      `${program}, quoted`,
    )
    await assertCounts(app, project, list.id, isKnown ? { unsubscribed: 2 } : { active: 1, unsubscribed: 1 })
    const applied = { unsubscribe: { status: 'applied' } }
    assert.deepEqual(
      (await emailsIn(app, project)).map(({ handler_results }) => handler_results),
      [applied, isKnown ? applied : null],
      program,
    )
  }
})

test('a name counts only when who writes is whom that mail was sent to, by the project of the mailbox', async () => {
  const { project, list, recipients } = await newSentPost(app, { subscribers: 2 })
  const [one, two] = recipients as [TestRecipient, TestRecipient]
  const other = await newSentPost(app)
  const say = (by: string, to: string, message_id: string) => {
    const raw = replyOf('stop-android-bare.eml', { by, list: to, message_id, unsubscribe: '' })
    return fileMail(app, { recipients: [to], envelope_from: by, raw })
  }
  await say(two.email, list.mailbox_address, nameOf(one))
  await say('stranger@example.net', list.mailbox_address, nameOf(one))
  await say(one.email, other.list.mailbox_address, nameOf(one))
  await say(one.email, list.mailbox_address, `dlv_${'0'.repeat(26)}@posthaste.test`)
  await assertCounts(app, project, list.id, { active: 2 })
  await assertCounts(app, other.project, other.list.id, { active: 1 })
  assert.ok(!(await project.events()).includes('subscriber.unsubscribed'))
})
