import { setTimeout as sleep } from 'node:timers/promises'
import type { Program } from '../bench/support.ts'
import type { ConnectionSettings } from '../server/database/database.ts'
import { linkTo } from './captured-link.ts'
import { readerPages } from './demo-reader.ts'

/** One grey dot, as large as it is asked to be. */
const picture = 'data:image/gif;base64,R0lGODlhAQABAIAAAJqVjgAAACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw=='

const sourdough = `The jar on the windowsill has been bubbling since Tuesday, which means that this week's letter is about **patience**, and about what to do when you have none.

## What a starter wants

Flour, water, and to be left alone. In that order:

1. Feed it in the morning, when the kitchen is cold.
2. Wait until it has doubled. *Then* wait a little longer.
3. Bake with it, or put it to sleep in the fridge.

> Bread is the slowest fast food there is.

You can read how [the science works](https://example.org/sourdough), or you can simply believe me.

### The numbers

| | Weekday | Sunday |
|---|---|---|
| Flour | 400 g | 900 g |
| Water | 300 g | 675 g |
| Salt | 8 g | 18 g |

Weigh it with \`a scale\`, not with cups:

\`\`\`
hydration = water / flour   # 0.75
\`\`\`

---

Next week: soup, and why the second day is the best one. ${'Until then, keep the jar warm and the butter warmer. '.repeat(3)}`

const designed = `<style>.button{background:#b4451f;color:#ffffff;padding:12px 24px;border-radius:6px;text-decoration:none;display:inline-block}</style>
<table width="100%" cellpadding="0" cellspacing="0"><tr><td style="background-color:#f6e7dd;padding:24px;text-align:center"><h1 style="color:#7a2e12">The autumn menu</h1>
<p style="color:#4a3b33">Three evenings, eleven dishes, one long table.</p><p><a class="button" href="https://example.org/menu">Book a seat</a></p></td></tr></table>
<p>Dear {{ first_name | default: "friend" }}, the table is set from the 20th on. Come hungry.</p>`

const titles = [
  'Soup on the second day',
  'In praise of the dull knife',
  'Salt, and when',
  'A letter about lemons',
  'What my grandmother never wrote down',
  'Beans',
  'The quiet oven',
  'Three ways with stale bread',
  'On being late for dinner',
  'Winter greens',
  'How to burn butter',
  'The last tomatoes',
]

type Call = (method: string, path: string, body?: object) => Promise<Record<string, string>>

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

/** Answers the places of those that are worth a look. */
async function writePosts(call: Call, listId: string) {
  const publish = async (post: object): Promise<string> => {
    const { id } = await call('POST', `/lists/${listId}/posts`, post)
    return (await call('POST', `/lists/${listId}/posts/${id}/publish`)).slug as string
  }
  for (const subject of [...titles, ...titles.slice(0, 9)])
    await publish({
      subject,
      body_markdown:
        'A few words about what happened in the kitchen this week, and what to make of it when the guests are already at the door.',
    })
  return {
    designed: await publish({ subject: 'The autumn menu', preview_text: 'Three evenings, eleven dishes', body_html: designed }),
    text: await publish({
      subject: 'Sourdough, slowly',
      preview_text: 'What a starter wants, and what to do when you have no patience left',
      body_markdown: sourdough,
    }),
    pictures: await publish({
      subject: 'A post with pictures',
      body_html: `<p>Before.</p><img src="${picture}" alt="A loaf" width="900" height="500"><p>After.</p><img src="${picture}" alt="Another loaf">`,
    }),
  }
}

/** A newsletter that has been going for a while, a waitlist, and somebody who reads; answers the pages that there are to see. */
export async function makeDemo(program: Program, connection: ConnectionSettings): Promise<Record<string, string>> {
  const { url, key } = program
  const call = caller(program)
  const list = await call('POST', '/lists', {
    name: 'Kitchen Letters',
    description: 'One letter a week about bread, soup and the people who make them. No recipes that need a shop you do not have.',
  })
  await call('PATCH', `/lists/${list.id}`, {
    accent_color: '#b4451f',
    show_subscriber_count: true,
    postal_address: 'Kitchen Letters\n12 Mill Lane, 4051 Basel',
    footer: 'Written by Ann Lee on Sundays.',
  })
  const posts = await writePosts(call, list.id as string)
  await fetch(`${url}/v1/lists/${list.id}/subscribers/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'text/csv' },
    body: `email\n${Array.from({ length: 1_284 }, (_, number) => `reader${number}@example.org\n`).join('')}`,
  })
  const description = 'Dinner for twenty, once a month. Join, and we write when a seat is free.'
  const line = await call('POST', '/lists', { name: 'Long Table', description, type: 'waitlist' })
  const silent = await call('POST', '/lists', { name: 'Quiet List', description: 'By mail only.' })
  await call('PATCH', `/lists/${silent.id}`, { show_posts: false })
  await call('POST', `/lists/${list.id}/subscribers`, { email: 'visitor@example.org', name: 'Vera' })
  const confirm = await linkTo(connection, 'visitor@example.org', /https?:\/\/\S+\/confirm\/[\w.-]+/)
  const at = `${url}/s/${list.subdomain}`
  // What was looked at a moment ago is remembered for half a second.
  await sleep(600)
  return {
    home: `${at}/`,
    archive: `${at}/archive`,
    search: `${at}/archive?q=bread`,
    'search-nothing': `${at}/archive?q=submarine`,
    post: `${at}/p/${posts.text}`,
    'post-designed': `${at}/p/${posts.designed}`,
    'post-pictures': `${at}/p/${posts.pictures}`,
    subscribe: `${at}/subscribe`,
    embed: `${at}/embed`,
    badge: `${at}/badge.svg`,
    'not-found': `${at}/nothing-here`,
    'no-site': `${url}/s/nobody/`,
    'without-posts': `${url}/s/${silent.subdomain}/`,
    waitlist: `${url}/s/${line.subdomain}/`,
    'waitlist-join': `${url}/s/${line.subdomain}/join`,
    confirm,
    ...(await readerPages({ url, connection, call })),
  }
}
