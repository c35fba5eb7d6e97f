import type { ConnectionSettings } from '../server/database/database.ts'
import { linkTo } from './captured-link.ts'

interface Demo {
  url: string
  connection: ConnectionSettings
  call(method: string, path: string, body?: object): Promise<Record<string, string> | null>
}

/** What somebody sees behind the links in their mail: another list of theirs, a post that was sent, and who has left it. */
export async function readerPages({ url, connection, call }: Demo): Promise<Record<string, string>> {
  const list = (await call('POST', '/lists', { name: 'Market Notes', description: 'What is good this week.' })) as Record<string, string>
  const other = (await call('POST', '/lists', { name: 'Kitchen Errata' })) as Record<string, string>
  await call('PATCH', `/lists/${list.id}`, { accent_color: '#2f6f4f', welcome_message: 'The first letter comes on Sunday.' })
  for (const email of ['vera@example.org', 'left@example.org'])
    for (const { id } of [list, other]) await call('POST', `/lists/${id}/subscribers`, { email, verified: true })
  const post = (await call('POST', `/lists/${list.id}/posts`, { subject: 'Leeks', body_markdown: 'Leeks are in.' })) as Record<
    string,
    string
  >
  await call('POST', `/lists/${list.id}/posts/${post.id}/send`)
  const unsubscribe = await linkTo(connection, 'vera@example.org', /https?:\/\/\S+\/u\/\w+/)
  const unsubscribed = await linkTo(connection, 'left@example.org', /https?:\/\/\S+\/u\/\w+/)
  await press(unsubscribed)
  const preferences = /href="([^"]+\/preferences\/[^"]+)"/.exec(await (await fetch(unsubscribe)).text())?.[1] as string
  await press(`${preferences}/data`)
  await press(`${preferences}/address`, { email: 'vera@example.net' })
  await call('POST', `/lists/${list.id}/subscribers`, { email: 'confirmed@example.org' })
  const confirmed = await linkTo(connection, 'confirmed@example.org', /https?:\/\/\S+\/confirm\/[\w.-]+/)
  await press(confirmed)
  return {
    confirmed,
    unsubscribe,
    unsubscribed,
    preferences,
    'own-data': await linkTo(connection, 'vera@example.org', /https?:\/\/\S+\/preferences\/data\/[\w.-]+/),
    'another-address': await linkTo(connection, 'vera@example.net', /https?:\/\/\S+\/preferences\/address\/[\w.-]+/),
    'link-not-valid': `${url}/preferences/nothing`,
  }
}

const press = (link: string, fields: Record<string, string> = {}): Promise<unknown> =>
  fetch(link, { method: 'POST', body: new URLSearchParams(fields) }).then((answer) => answer.arrayBuffer())
