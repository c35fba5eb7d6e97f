import type { ConnectionSettings } from '../server/database/database.ts'
import { linkTo } from './captured-link.ts'
import type { Call } from './demo-content.ts'

export interface Demo {
  url: string
  connection: ConnectionSettings
  call: Call
}

/** What somebody sees behind the links in their mail: another list of theirs, a post that was sent, and who has left it. */
export async function readerPages({ url, connection, call }: Demo): Promise<Record<string, string>> {
  const list = await call('POST', '/lists', { name: 'Market Notes', description: 'What is good this week.' })
  const other = await call('POST', '/lists', { name: 'Kitchen Errata' })
  await call('PATCH', `/lists/${list.id}`, { accent_color: '#2f6f4f', welcome_message: 'The first letter comes on Sunday.' })
  for (const email of ['vera@example.org', 'left@example.org'])
    for (const { id } of [list, other]) await call('POST', `/lists/${id}/subscribers`, { email, verified: true })
  const post = await call('POST', `/lists/${list.id}/posts`, { subject: 'Leeks', body_markdown: 'Leeks are in.' })
  await call('POST', `/lists/${list.id}/posts/${post.id}/send`)
  const unsubscribe = await linkTo(connection, 'vera@example.org', /https?:\/\/\S+\/u\/\w+/)
  const unsubscribed = await linkTo(connection, 'left@example.org', /https?:\/\/\S+\/u\/\w+/)
  await press(unsubscribed)
  const preferences = /href="([^"]+\/preferences\/[^"]+)"/.exec(await (await fetch(unsubscribe)).text())?.[1] as string
  await press(`${preferences}/data`)
  await press(`${preferences}/address`, { email: 'vera@example.net' })
  const agreeing = await linkTo(connection, 'vera@example.org', /https?:\/\/\S+\/preferences\/agree\/[\w.-]+/)
  await press(agreeing)
  await call('POST', `/lists/${list.id}/subscribers`, { email: 'confirmed@example.org' })
  const confirmed = await linkTo(connection, 'confirmed@example.org', /https?:\/\/\S+\/confirm\/[\w.-]+/)
  await press(confirmed)
  return {
    confirmed,
    unsubscribe,
    unsubscribed,
    preferences,
    'own-data': await linkTo(connection, 'vera@example.org', /https?:\/\/\S+\/preferences\/data\/[\w.-]+/),
    'another-address-agree': agreeing,
    'another-address': await linkTo(connection, 'vera@example.net', /https?:\/\/\S+\/preferences\/address\/[\w.-]+/),
    'link-not-valid': `${url}/preferences/nothing`,
  }
}

export const press = (link: string, fields: Record<string, string> = {}): Promise<unknown> =>
  fetch(link, { method: 'POST', body: new URLSearchParams(fields) }).then((answer) => answer.arrayBuffer())
