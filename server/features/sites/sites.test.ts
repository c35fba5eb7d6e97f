import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { withClient } from '../../../tests/support/database.ts'
import { createEmptyDatabase } from '../../../tests/support/empty-database.ts'
import { followEvents } from '../../../tests/support/event-stream.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newPost } from '../../../tests/support/posts.ts'
import { newSite, publish, visit } from '../../../tests/support/sites.ts'
import { until } from '../../../tests/support/until.ts'
import { migrate } from '../../database/migrate.ts'
import { forgetVisitors } from './index.ts'

const app = await startApp({ ROLES: 'http,consumers,sender' })
const { database } = app.services

test('a post that was sent is on the site, at the place that it got when sending began', async () => {
  const { project, list, post, path } = await newPost(app, { subscribers: 1, body: { subject: '{{ first_name }}, hello again!' } })
  assert.equal((await project.get(path)).body.slug, null)
  assert.equal((await project.post(`${path}/send`)).status, 202)
  await until('it to be sent', async () => (await project.get(path)).body.status === 'sent')
  assert.equal((await project.get(path)).body.slug, 'hello-again')
  const { status, body } = await visit(app, `/s/${list.subdomain}/p/hello-again`)
  assert.equal(status, 200)
  assert.match(body, /<h1>Hello again!<\/h1>/)
  assert.equal((await visit(app, `/s/${list.subdomain}/p/${post.id}`)).status, 301)
})

test('a post is on the site as soon as its sending begins, however long that takes', async () => {
  const { project, list, path } = await newPost(app, { subscribers: 1, body: { subject: 'Underway' } })
  assert.equal((await visit(app, `/s/${list.subdomain}/p/underway`)).status, 404)
  assert.equal((await project.post(`${path}/send`)).status, 202)
  assert.equal((await visit(app, `/s/${list.subdomain}/p/underway`)).status, 200)
  const { body } = await project.get(path)
  assert.ok(Date.parse(body.published_at))
})

test('twenty posts of one subject at once get twenty places', async () => {
  const { project, list } = await newSite(app)
  const posts = await Promise.all(Array.from({ length: 20 }, () => publish(project, list, { subject: 'Weekly' })))
  assert.equal(new Set(posts.map(({ slug }) => slug)).size, 20)
  for (const { slug } of posts) assert.match(slug, /^weekly(?:-\d+)?$/)
})

test('of a view, hashes are kept until the day is over, and nothing after', async () => {
  const { project, list, at } = await newSite(app)
  const { slug } = await publish(project, list, { subject: 'Seen' })
  await visit(app, `${at}/p/${slug}`)
  const kept = () => database.many<Record<string, unknown>>`select * from post_views where project_id = ${project.id}`
  const [row] = await until('the view', async () => ((await kept()).length > 0 ? kept() : null))
  assert.deepEqual(Object.keys(row ?? {}).sort(), ['day', 'list_id', 'post_id', 'project_id', 'visitor'])
  assert.equal((row as { visitor: Buffer }).visitor.length, 16)
  await forgetVisitors.run(app.services, {})
  assert.equal((await kept()).length, 1, 'not while the day lasts')
  app.clock.advance(24 * 3_600_000 + 10 * 60_000)
  await forgetVisitors.run(app.services, {})
  assert.deepEqual(await kept(), [])
  assert.deepEqual(await database.many`select * from visitor_salts`, [])
  assert.deepEqual(await project.events(), [], 'nobody wants to hear of it, so that nobody is told')
})

test('who goes away with the list, or is looked at in another project, is told to nobody', async () => {
  const [{ project, list, at }, other] = [await newSite(app), await newSite(app)]
  const stream = await followEvents({ url: app.url, key: other.project.key })
  const { slug } = await publish(project, list, { subject: 'Seen' })
  await visit(app, `${at}/p/${slug}`)
  await until('the view', async () => database.first`select 1 from post_views where project_id = ${project.id}`)
  assert.deepEqual(
    stream.events.filter(({ event }) => event === 'post.viewed'),
    [],
  )
  stream.leave()
})

test('what cannot be put together for the site is said, and nothing else breaks', { timeout: 60_000 }, async () => {
  const { project, list, at } = await newSite(app)
  const { slug, id } = await publish(project, list, { subject: 'Broken' })
  await publish(project, list, { subject: 'Whole' })
  // As an earlier release may have taken it.
  await database.run`update posts set body_html = ${'{% for i in (1..999) %}{% for j in (1..999) %}{{ i }}{% endfor %}{% endfor %}'}, updated_at = updated_at + interval '1 second' where slug = ${slug} and project_id = ${project.id}`
  assert.ok(id)
  const { status, body } = await visit(app, `${at}/p/${slug}`)
  assert.equal(status, 200)
  assert.match(body, /This post cannot be shown here/)
  assert.match((await visit(app, `${at}/feed.xml`)).body, /<title>Broken<\/title>/)
})

const old = `
  insert into users (id, kind, email, email_key) values (gen_random_uuid(), 'human', 'a@example.org', 'a@example.org');
  insert into projects (id, name, slug, owner_id) select gen_random_uuid(), 'Old', 'old', id from users;
  insert into mailboxes (project_id, id, address, address_key, type, status) select id, gen_random_uuid(), 'news@posthaste.test', 'news@posthaste.test', 'persistent', 'active' from projects;
  insert into lists (project_id, id, name, subdomain, type, mailbox_id) select project_id, gen_random_uuid(), 'News', 'old-news', 'newsletter', id from mailboxes;
  insert into posts (project_id, list_id, id, subject, body_html, status, sent_at, created_at, updated_at)
  select l.project_id, l.id, gen_random_uuid(), p.subject, '<p>Old words</p>', p.status, case p.status when 'sent' then now() - p.age end, now() - p.age, now() - p.age
  from lists l, (values ('Où est-il ? {{ name }}', 'sent', interval '5 days'), ('Twice', 'sent', interval '4 days'), ('Twice!', 'sent', interval '3 days'),
    ('漢字', 'sent', interval '2 days'), ('A draft', 'draft', interval '1 day')) as p (subject, status, age)`

test('what was sent before the upgrade is on the site: by its subject, or by its id', async () => {
  const made = await createEmptyDatabase()
  await migrate(made.connection, 8)
  await withClient(made.connection, (client) => client.query(old))
  const upgraded = await startApp({ ROLES: 'http' }, { connection: made.connection })
  after(async () => {
    await upgraded.stop()
    await made.drop()
  })
  const { body } = await visit(upgraded, '/s/old-news/')
  const places = [...body.matchAll(/<h2 class="title"><a href="\/s\/old-news\/p\/([^"]+)">/g)].map(([, place]) => place as string)
  assert.equal(places.length, 4)
  assert.deepEqual([places[2], places[3]], ['twice', 'ou-est-il'])
  for (const place of places) assert.equal((await visit(upgraded, `/s/old-news/p/${place}`)).status, 200, place)
  assert.match(places[0] as string, /^post_/)
  assert.match(places[1] as string, /^post_/)
})
