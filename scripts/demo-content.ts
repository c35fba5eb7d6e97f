import { setTimeout as sleep } from 'node:timers/promises'
import type { Program } from '../bench/support.ts'
import type { ConnectionSettings } from '../server/database/database.ts'
import { linkTo } from './captured-link.ts'
import { writePosts } from './demo-posts.ts'
import { readerPages } from './demo-reader.ts'
import { waitlistPages } from './demo-waitlist.ts'

/** A page to look at: its address, or what somebody does there first. */
export type DemoPage = string | { url: string; fill?: Record<string, string>; press: string }

export type Call = (method: string, path: string, body?: object) => Promise<Record<string, string>>

const caller =
  ({ url, key }: Program): Call =>
  async (method, path, body) => {
    const response = await fetch(`${url}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as Record<string, string>
  }

/** A newsletter that has been going for a while, a waitlist, and somebody who reads; answers the pages that there are to see. */
export async function makeDemo(program: Program, connection: ConnectionSettings): Promise<Record<string, DemoPage>> {
  const { url, key } = program
  const call = caller(program)
  const list = await call('POST', '/lists', {
    name: 'Kitchen Letters',
    description: 'One letter a week about bread, soup and the people who make them. No recipes that need a shop you do not have.',
  })
  await call('PATCH', `/lists/${list.id}`, {
    accent_color: '#b4451f',
    logo_url: 'https://img.example/logo.svg',
    show_subscriber_count: true,
    postal_address: 'Kitchen Letters\n12 Mill Lane, 4051 Basel',
    footer: 'Written by Ann Lee on Sundays.',
  })
  const posts = await writePosts(call, connection, list.id as string)
  await fetch(`${url}/v1/lists/${list.id}/subscribers/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'text/csv' },
    body: `email\n${Array.from({ length: 1_284 }, (_, number) => `reader${number}@example.org\n`).join('')}`,
  })
  const silent = await call('POST', '/lists', { name: 'Quiet List', description: 'By mail only.' })
  await call('PATCH', `/lists/${silent.id}`, { show_posts: false })
  const fresh = await call('POST', '/lists', { name: 'Slow Gardens', description: 'Notes from an allotment that nobody hurries.' })
  await call('POST', `/lists/${list.id}/subscribers`, { email: 'visitor@example.org', name: 'Vera' })
  const confirm = await linkTo(connection, 'visitor@example.org', /https?:\/\/\S+\/confirm\/[\w.-]+/)
  const at = `${url}/s/${list.subdomain}`
  const post = `${at}/p/${posts.text}`
  const readers = await readerPages({ url, connection, call })
  const waitlist = await waitlistPages({ url, connection, call })
  // What was looked at a moment ago is remembered for half a second.
  await sleep(600)
  return {
    home: `${at}/`,
    archive: `${at}/archive`,
    'archive-older': { url: `${at}/archive`, press: 'Older posts' },
    search: `${at}/archive?q=bread`,
    'search-nothing': `${at}/archive?q=submarine`,
    post,
    'post-designed': `${at}/p/${posts.designed}`,
    'post-pictures': `${at}/p/${posts.pictures}`,
    'post-liked': { url: post, press: 'I like it' },
    subscribe: `${at}/subscribe`,
    'subscribe-problem': { url: `${at}/subscribe`, fill: { 'Your e-mail address': 'ann at example' }, press: 'Subscribe' },
    'check-your-mailbox': { url: `${at}/`, fill: { 'Your e-mail address': 'new@example.org' }, press: 'Subscribe' },
    embed: `${at}/embed`,
    badge: `${at}/badge.svg`,
    'not-found': `${at}/nothing-here`,
    'no-site': `${url}/s/nobody/`,
    'without-posts': `${url}/s/${silent.subdomain}/`,
    empty: `${url}/s/${fresh.subdomain}/`,
    'empty-archive': `${url}/s/${fresh.subdomain}/archive`,
    confirm,
    ...readers,
    ...waitlist,
    error: `${url}/s/%zz`,
  }
}
