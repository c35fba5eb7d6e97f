import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newSite, publish, visit } from '../../../tests/support/sites.ts'
import { readXml } from '../../../tests/support/xml.ts'
import { parseId } from '../../base/ids.ts'

const app = await startApp()

const odd = {
  subject: 'A <b> & "c" ]]> \ufffe😀',
  body_html: '<p style="color:red">One ]]> &amp; two</p><script>x</script>',
  preview_text: 'Is <it>\u000b & so',
}

const idOf = (prefix: 'post' | 'lst', id: string): string => `urn:uuid:${parseId(prefix, id)}`

async function site() {
  const made = await newSite(app, { name: 'Soup & "Bread"', description: 'For <all>' })
  await publish(made.project, made.list, { subject: 'First', body_markdown: 'Hello *you*' })
  const post = await publish(made.project, made.list, odd)
  return { ...made, post, url: `${app.url}${made.at}` }
}

test('RSS 2.0: well-formed, whole posts, dates as RFC 822 has them', async () => {
  const { at, url, post } = await site()
  const { status, headers, body } = await visit(app, `${at}/feed.xml`)
  assert.deepEqual([status, headers.get('content-type')], [200, 'application/rss+xml; charset=utf-8'])
  const rss = readXml(body)
  assert.deepEqual([rss.name, rss.attributes.version], ['rss', '2.0'])
  const channel = rss.one('channel')
  assert.equal(channel.one('title').text, 'Soup & "Bread"')
  assert.equal(channel.one('link').text, `${url}/`)
  assert.equal(channel.one('description').text, 'For <all>')
  assert.equal(channel.one('language').text, 'en')
  assert.equal(channel.one('atom:link').attributes.href, `${url}/feed.xml`)
  const [newest, first] = channel.all('item')
  assert.equal(newest?.one('title').text, 'A <b> & "c" ]]> 😀')
  assert.equal(newest?.one('link').text, `${url}/p/${post.slug}`)
  assert.deepEqual([newest?.one('guid').text, newest?.one('guid').attributes.isPermaLink], [idOf('post', post.id), 'false'])
  assert.equal(newest?.one('description').text, 'Is <it> & so')
  assert.equal(newest?.one('content:encoded').text, '<p>One ]]&gt; &amp; two</p>')
  assert.equal(first?.one('content:encoded').text, '<p>Hello <em>you</em></p>')
  for (const item of channel.all('item'))
    assert.match(item.one('pubDate').text, /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/)
})

test('Atom: well-formed, with all that RFC 4287 asks of a feed and of its entries', async () => {
  const { at, url, list } = await site()
  const { headers, body } = await visit(app, `${at}/atom.xml`)
  assert.equal(headers.get('content-type'), 'application/atom+xml; charset=utf-8')
  const feed = readXml(body)
  assert.deepEqual([feed.name, feed.attributes.xmlns], ['feed', 'http://www.w3.org/2005/Atom'])
  assert.equal(feed.one('id').text, idOf('lst', list.id))
  assert.equal(feed.one('author').one('name').text, 'Soup & "Bread"')
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
  assert.match(feed.one('updated').text, isTime)
  assert.equal(feed.all('link').find(({ attributes }) => attributes.rel === 'self')?.attributes.href, `${url}/atom.xml`)
  const entries = feed.all('entry')
  assert.equal(entries.length, 2)
  assert.equal(new Set(entries.map((entry) => entry.one('id').text)).size, 2)
  for (const entry of entries) {
    assert.match(entry.one('updated').text, isTime)
    assert.match(entry.one('published').text, isTime)
    assert.equal(entry.one('content').attributes.type, 'html')
    assert.match(entry.one('id').text, /^urn:uuid:[\da-f-]{36}$/, 'stays when the site moves')
    assert.ok(entry.one('link').attributes.href?.startsWith(`${url}/p/`))
  }
})

test('JSON Feed 1.1', async () => {
  const { at, url, post } = await site()
  const { headers, body } = await visit(app, `${at}/feed.json`)
  assert.equal(headers.get('content-type'), 'application/feed+json; charset=utf-8')
  const feed = JSON.parse(body)
  assert.deepEqual(
    [feed.version, feed.title, feed.home_page_url, feed.feed_url, feed.description],
    ['https://jsonfeed.org/version/1.1', 'Soup & "Bread"', `${url}/`, `${url}/feed.json`, 'For <all>'],
  )
  assert.equal(feed.items.length, 2)
  assert.deepEqual([feed.items[0].id, feed.items[0].url], [idOf('post', post.id), `${url}/p/${post.slug}`])
  assert.equal(feed.items[0].content_html, '<p>One ]]&gt; &amp; two</p>')
  assert.equal(feed.items[0].date_published, post.published_at)
})

test('code stays whole, and classes of the page are left out', async () => {
  const { project, list, at } = await newSite(app)
  const code = '<div class="hero"> class="a b"'
  await publish(project, list, { subject: 'Code', body_markdown: `Use \`${code}\` so.\n\n<p style="color:red" title="x">red</p>` })
  const [item] = JSON.parse((await visit(app, `${at}/feed.json`)).body).items
  assert.match(item.content_html, /<code>&lt;div class="hero"&gt; class="a b"<\/code>/)
  assert.match(item.content_html, /<p title="x">red<\/p>/)
  assert.equal(item.summary, `Use ${code} so. red`)
})

test('feeds, sitemap and robots of a list that has published nothing are whole as well', async () => {
  const { at } = await newSite(app)
  const url = `${app.url}${at}`
  assert.equal(
    readXml((await visit(app, `${at}/feed.xml`)).body)
      .one('channel')
      .all('item').length,
    0,
  )
  assert.equal(readXml((await visit(app, `${at}/atom.xml`)).body).all('entry').length, 0)
  assert.deepEqual(JSON.parse((await visit(app, `${at}/feed.json`)).body).items, [])
  const map = readXml((await visit(app, `${at}/sitemap.xml`)).body)
  assert.deepEqual(
    map.all('url').map((one) => one.one('loc').text),
    [`${url}/`, `${url}/archive`],
  )
  const robots = await visit(app, `${at}/robots.txt`)
  assert.equal(robots.headers.get('content-type'), 'text/plain; charset=utf-8')
  assert.match(robots.body, new RegExp(`^Sitemap: ${url}/sitemap.xml$`, 'm'))
})

test('the sitemap names every post with the time of its last change', async () => {
  const { at, url, post } = await site()
  const map = readXml((await visit(app, `${at}/sitemap.xml`)).body)
  assert.deepEqual(
    map.all('url').map((one) => one.one('loc').text),
    [`${url}/`, `${url}/archive`, `${url}/p/${post.slug}`, `${url}/p/first`],
  )
  assert.match(map.all('url')[2]?.one('lastmod').text ?? '', /^\d{4}-\d\d-\d\dT/)
})

test('the badge is there while the list shows its count, and is a picture that runs nothing', async () => {
  const { project, list, at } = await newSite(app, { name: 'A & <B>' })
  assert.equal((await visit(app, `${at}/badge.svg`)).status, 404)
  await project.post(`/lists/${list.id}/subscribers`, { email: 'ann@example.org', verified: true })
  await project.patch(`/lists/${list.id}`, { show_subscriber_count: true })
  app.clock.advance(61_000)
  const { status, headers, body } = await badgeOnce(at)
  assert.deepEqual([status, headers.get('content-type')], [200, 'image/svg+xml; charset=utf-8'])
  assert.equal(readXml(body).one('title').text, 'A & <B>: 1 subscriber')
  assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/)
  assert.equal(readXml((await visit(app, `${at}/favicon.svg`)).body).one('text').text, 'A')
})

/** The list as it was is remembered for half a second. */
async function badgeOnce(at: string) {
  for (;;) {
    const answer = await visit(app, `${at}/badge.svg`)
    if (answer.status === 200) return answer
  }
}
