import assert from 'node:assert/strict'
import { test } from 'node:test'
import { followEvents } from '../../../tests/support/event-stream.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { newSite, publish, visit } from '../../../tests/support/sites.ts'
import { until } from '../../../tests/support/until.ts'

const app = await startApp()

test('the home page shows who writes, what about, and the newest posts; it changes nothing', async () => {
  const { project, list, at } = await newSite(app, { name: 'Kitchen Notes', description: 'Soup & bread, every Friday' })
  await publish(project, list, { subject: 'First post', body_markdown: '# Hello\n\nThe *first* of many.' })
  await publish(project, list, { subject: 'Second post', preview_text: 'Now with <b>bread</b>', body_html: '<p>Text</p>' })
  const { status, body, headers } = await visit(app, at)
  assert.equal(status, 200)
  assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
  assert.match(body, /<h1>Kitchen Notes<\/h1>/)
  assert.match(body, /Soup &amp; bread, every Friday/)
  assert.ok(body.indexOf('Second post') < body.indexOf('First post'), 'newest first')
  assert.match(body, /The first of many\./)
  assert.match(body, /Now with &lt;b&gt;bread&lt;\/b&gt;/)
  assert.doesNotMatch(body, /<strong>\d+ subscribers/, 'the count is not shown unless asked for')
  assert.deepEqual(await project.events(), [])
})

test('a post has a place of its own, with all that previews and search engines ask for', async () => {
  const { project, list, at } = await newSite(app, { name: 'News' })
  const post = await publish(project, list, {
    subject: 'Über uns & more!',
    preview_text: 'What we do',
    body_html: '<h1>Hi</h1><p>Text {{ name | default: "friend" }}</p><img src="https://img.example.org/a.png" width="600" height="400">',
  })
  assert.equal(post.slug, 'uber-uns-more')
  const { status, body } = await visit(app, `${at}/p/${post.slug}`)
  assert.equal(status, 200)
  assert.match(body, /<h1>Über uns &amp; more!<\/h1>/)
  assert.match(body, /<h2>Hi<\/h2><p>Text friend<\/p>/)
  assert.match(body, /1 min read/)
  assert.match(body, new RegExp(`<link rel="canonical" href="${app.url}/s/${list.subdomain}/p/uber-uns-more">`))
  assert.match(body, /<meta property="og:title" content="Über uns &amp; more!">/)
  assert.match(body, /<meta property="og:description" content="What we do">/)
  assert.match(body, /<meta property="og:image" content="https:\/\/img.example.org\/a.png">/)
  const data = JSON.parse(/<script type="application\/ld\+json">(.*?)<\/script>/.exec(body)?.[1] ?? '')
  assert.equal(data['@type'], 'Article')
  assert.equal(data.headline, 'Über uns & more!')
  assert.equal(data.datePublished, post.published_at)
})

test('a post is found by its id as well, and led to its place; the place is kept for life and never shared', async () => {
  const { project, list, at } = await newSite(app)
  const [first, second] = [await publish(project, list, { subject: 'Hello' }), await publish(project, list, { subject: 'Hello!' })]
  assert.deepEqual([first.slug, second.slug], ['hello', 'hello-2'])
  const { status, headers } = await visit(app, `${at}/p/${first.id}`)
  assert.deepEqual([status, headers.get('location')], [301, `${at}/p/hello`])
  const third = await publish(project, list, { subject: '日本語' })
  assert.equal(third.slug, third.id)
  assert.equal((await visit(app, `${at}/p/${third.id}`)).status, 200)
})

test('drafts, posts of others and what is not there are not found', async () => {
  const { project, list, at } = await newSite(app)
  const other = await newSite(app)
  const theirs = await publish(other.project, other.list, { subject: 'Theirs' })
  const { body: draft } = await project.post(`/lists/${list.id}/posts`, { subject: 'Draft', body_html: '<p>x</p>' })
  for (const path of [
    `/p/${draft.id}`,
    '/p/draft',
    `/p/${theirs.id}`,
    '/p/theirs',
    '/p/nothing',
    '/nothing',
    '/p/',
    '/p/%00',
    '/p/%F0%9F%98%80',
  ])
    assert.equal((await visit(app, `${at}${path}`)).status, 404, path)
  for (const path of ['/s/%00/', '/s/Upper/', '/s/a.b/archive', '/s/%F0%9F%98%80/feed.xml'])
    assert.equal((await visit(app, path)).status, 404, path)
  const { status, body } = await visit(app, '/s/nobody-at-all/')
  assert.equal(status, 404)
  assert.match(body, /There is no site here/)
})

test('with show_posts off there is the form, and nothing else', async () => {
  const { project, list, at } = await newSite(app)
  const { slug } = await publish(project, list, { subject: 'Secret words' })
  assert.equal((await visit(app, `${at}/p/${slug}`)).status, 200)
  await project.patch(`/lists/${list.id}`, { show_posts: false })
  await until('the change to be seen', async () => (await visit(app, `${at}/p/${slug}`)).status === 404)
  for (const path of [`/p/${slug}`, '/archive', '/archive?q=secret', '/feed.xml', '/atom.xml', '/feed.json'])
    assert.equal((await visit(app, `${at}${path}`)).status, 404, path)
  assert.doesNotMatch((await visit(app, `${at}/sitemap.xml`)).body, /secret|archive/)
})

test('the archive goes back page by page, and what is published meanwhile moves nothing', async () => {
  const { project, list, at } = await newSite(app)
  for (let number = 1; number <= 23; number++) await publish(project, list, { subject: `Post number ${number}` })
  const titles = (html: string) => [...html.matchAll(/>Post number (\d+)<\/a>/g)].map(([, number]) => Number(number))
  const first = await until('all of them', async () => {
    const { body } = await visit(app, `${at}/archive`)
    return body.includes('Post number 23<') && body
  })
  assert.deepEqual(
    titles(first),
    Array.from({ length: 20 }, (_, index) => 23 - index),
  )
  const next = /rel="next" href="([^"]+)"/.exec(first)?.[1] as string
  await publish(project, list, { subject: 'Post number 24' })
  const { body: second } = await visit(app, next)
  assert.deepEqual(titles(second), [3, 2, 1])
  assert.doesNotMatch(second, /rel="next"/)
  assert.match(second, /<meta name="robots" content="noindex">/)
  assert.equal((await visit(app, `${at}/archive?page=${list.id.replace('lst_', 'post_')}`)).status, 404)
})

test('search finds words and their beginnings in titles and bodies, and takes whatever is typed', async () => {
  const { project, list, at } = await newSite(app)
  await publish(project, list, { subject: 'Bread', body_html: '<p title="zebra">Sourdough takes <em>time</em>.</p>' })
  await publish(project, list, { subject: 'Soup', body_markdown: 'Onions and **thyme**' })
  const found = async (q: string) =>
    [...(await visit(app, `${at}/archive?q=${encodeURIComponent(q)}`)).body.matchAll(/<h2 class="title"><a[^>]*>(\w+)/g)].map(
      ([, title]) => title,
    )
  assert.deepEqual(await found('sourd'), ['Bread'])
  assert.deepEqual(await found('ONION thyme'), ['Soup'])
  assert.deepEqual(await found('ti'), ['Bread'])
  assert.deepEqual(await found('zebra'), [], 'what nobody reads is not searched')
  for (const odd of ["';--", '& | !', '((', '"<script>', '\\', '%', ':*', "it's", '😀', 'a'.repeat(5_000)]) {
    const { status, body } = await visit(app, `${at}/archive?q=${encodeURIComponent(odd)}`)
    assert.equal(status, 200, odd)
    assert.doesNotMatch(body, /<script>/)
  }
})

test('neither lists nor feeds, previews, places and searches show what the page hides', async () => {
  const { project, list, at } = await newSite(app)
  const forSome = (words: string, others = '') => `{% if contact.plan == 'paid' %}${words}{% else %}${others}{% endif %}`
  const post = await publish(project, list, {
    subject: forSome('Secret42 subject', 'Open subject'),
    preview_text: `${forSome('Secret42 preview')} For all`,
    body_html: `<!-- <p>Secret42 comment</p> --><style>.secret42{color:red}</style><p>${forSome('Secret42 words', 'Open words')}</p><p style="display:none">Secret42 preheader</p>`,
  })
  await publish(project, list, {
    subject: 'Second',
    body_html: `<!-- Secret42 --><p>${forSome('Secret42', 'It&rsquo;s caf&eacute;')}</p>`,
    body_text: 'Secret42 that mail programs show',
  })
  assert.equal(post.slug, 'open-subject')
  const paths = ['', '/archive', `/p/${post.slug}`, '/feed.xml', '/atom.xml', '/feed.json', '/archive?q=open']
  for (const path of paths) {
    const { status, body } = await visit(app, `${at}${path}`)
    assert.equal(status, 200, path)
    assert.doesNotMatch(body, /secret42/i, path)
    assert.match(body, /Open subject/, path)
    assert.match(body, /For all/, path)
  }
  assert.match((await visit(app, at)).body, /<p>It’s café<\/p>/)
  assert.match((await visit(app, `${at}/archive?q=secret42`)).body, /Nothing was found/)
  for (const word of ['words', 'open', 'all', 'caf%C3%A9'])
    assert.doesNotMatch((await visit(app, `${at}/archive?q=${word}`)).body, /Nothing was found/, word)
})

test('one letter is a word of its own, and not the beginning of half of all', async () => {
  const { project, list, at } = await newSite(app)
  await publish(project, list, { subject: 'Vitamins', body_html: '<p>About vitamin C</p>' })
  await publish(project, list, { subject: 'Carrots', body_html: '<p>Eat them</p>' })
  const { body } = await visit(app, `${at}/archive?q=c`)
  assert.match(body, />Vitamins</)
  assert.doesNotMatch(body, />Carrots</)
})

test('who searches without end is told to wait; whoever looks is not', async () => {
  const limited = await startApp({ RATE_LIMIT_PER_MINUTE: '5' })
  const { at } = await newSite(limited)
  const statuses: number[] = []
  for (let time = 0; time < 12; time++)
    statuses.push((await visit(limited, `${at}/archive?q=word`, { 'x-forwarded-for': '192.0.2.7' })).status)
  assert.equal(statuses[0], 200)
  assert.ok(statuses.includes(429), String(statuses))
  for (const path of ['/archive', '/archive?q=', '/'])
    assert.equal((await visit(limited, `${at}${path}`, { 'x-forwarded-for': '192.0.2.7' })).status, 200, path)
  assert.equal((await visit(limited, `${at}/archive?q=word`, { 'x-forwarded-for': '192.0.2.8' })).status, 200)
  await limited.stop()
})

test('no text takes the search long to take in', { timeout: 60_000 }, async () => {
  const { project, list, at } = await newSite(app)
  for (const odd of ['_a', 'a.a@', '<', '<a b="', 'http://a/', '1e1-'])
    await publish(project, list, { subject: 'Odd', body_text: odd.repeat(50_000 / odd.length) })
  assert.equal((await visit(app, `${at}/archive?q=odd`)).status, 200)
})

test('who reads a post is told once a day, and neither machines nor those who look at other pages are', async () => {
  const { project, list, at } = await newSite(app)
  const stream = await followEvents({ url: app.url, key: project.key })
  try {
    const post = await publish(project, list, { subject: 'Seen' })
    const path = `${at}/p/${post.slug}`
    for (const agent of ['Googlebot/2.1', 'curl/8.5', '', 'Slackbot 1.0']) await visit(app, path, { 'user-agent': agent })
    await visit(app, path, { 'sec-purpose': 'prefetch' })
    await visit(app, path, {}, 'HEAD')
    await visit(app, at)
    for (let time = 0; time < 3; time++) await visit(app, path)
    await visit(app, path, { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' })
    const views = () => stream.events.filter(({ event }) => event === 'post.viewed')
    await until('two readers', () => views().length >= 2)
    app.clock.advance(24 * 3_600_000)
    await visit(app, path)
    await until('the next day', () => views().length >= 3)
    assert.equal(views().length, 3)
    assert.deepEqual(await viewedOf(project), ['post.viewed', 'post.viewed', 'post.viewed'])
    assert.deepEqual(views()[0]?.data.data.post_id, post.id)
  } finally {
    stream.leave()
  }
})

const viewedOf = async (project: TestProject) => (await project.events()).filter((type) => type === 'post.viewed')
