import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { withClient } from '../../../tests/support/database.ts'
import { createEmptyDatabase } from '../../../tests/support/empty-database.ts'
import { followEvents } from '../../../tests/support/event-stream.ts'
import { toNoon } from '../../../tests/support/noon.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newPost } from '../../../tests/support/posts.ts'
import { newSite, publish, visit } from '../../../tests/support/sites.ts'
import { until } from '../../../tests/support/until.ts'
import { migrate } from '../../database/migrate.ts'
import type { PostKey } from '../posts/index.ts'
import { describePosts, forgetVisitors, startViewRecorder } from './index.ts'

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
  assert.deepEqual(Object.keys(row ?? {}).sort(), ['day', 'list_id', 'peer', 'post_id', 'project_id', 'visitor'])
  assert.equal((row as { visitor: Buffer }).visitor.length, 16)
  await forgetVisitors.run(app.services, {})
  assert.equal((await kept()).length, 1, 'not while the day lasts')
  app.clock.advance(24 * 3_600_000 + 10 * 60_000)
  await forgetVisitors.run(app.services, {})
  assert.deepEqual(await kept(), [])
  assert.deepEqual(await database.many`select * from visitor_salts`, [])
  assert.deepEqual(await project.events(), [], 'nobody wants to hear of it, so that nobody is told')
})

test('one place has some readers of a post a day, however many browsers it says to have', async () => {
  toNoon(app)
  const { project, list, at } = await newSite(app)
  const { slug } = await publish(project, list, { subject: 'Crowd' })
  const look = (address: string, version: number) =>
    visit(app, `${at}/p/${slug}`, {
      'x-forwarded-for': address,
      'user-agent': `Mozilla/5.0 (X11; Linux x86_64; rv:${version}.0) Gecko/20100101 Firefox/${version}.0`,
    })
  const count = async () =>
    (await database.first<{ count: number }>`select count(*) as count from post_views where project_id = ${project.id}`)?.count
  for (let version = 0; version < 60; version++) assert.equal((await look('192.0.2.1', version)).status, 200)
  await until('fifty of them', async () => (await count()) === 50)
  // Another process knows nothing of what this one has seen.
  const recorder = startViewRecorder(app.services)
  const [post] = await database.many<PostKey>`select project_id, list_id, id as post_id from posts where project_id = ${project.id}`
  for (const agent of ['a', 'b', 'c']) recorder.note(post as PostKey, { peer: 'ip:192.0.2.1', agent }, () => true)
  await recorder.stop()
  assert.equal(await count(), 50)
  await look('2001:db8:1:2:3::4', 1)
  await look('2001:db8:1:2:5::6', 1)
  await look('2001:db8:1:3::1', 1)
  await until('two lines', async () => (await count()) === 52)
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
  select l.project_id, l.id, gen_random_uuid(), p.subject, '<p>Old words{% if name %}Secret{% endif %}</p>', p.status, case p.status when 'sent' then now() - p.age end, now() - p.age, now() - p.age
  from lists l, (values ('Où est-il ? {{ name }}', 'sent', interval '5 days'), ('Twice', 'sent', interval '4 days'), ('Twice!', 'sent', interval '3 days'),
    ('漢字', 'sent', interval '2 days'), ('A draft', 'draft', interval '1 day')) as p (subject, status, age)`

test('what was sent before the upgrade is on the site once its owner says so: by its subject, or by its id', async () => {
  const made = await createEmptyDatabase()
  await migrate(made.connection, 8)
  await withClient(made.connection, (client) => client.query(old))
  const upgraded = await startApp({ ROLES: 'http' }, { connection: made.connection })
  after(async () => {
    await upgraded.stop()
    await made.drop()
  })
  const { database } = upgraded.services
  assert.deepEqual(await database.many`select show_posts from lists`, [{ show_posts: false }])
  await database.run`update lists set show_posts = true`
  const { body } = await visit(upgraded, '/s/old-news/')
  const places = [...body.matchAll(/<h2 class="title"><a href="\/s\/old-news\/p\/([^"]+)">/g)].map(([, place]) => place as string)
  assert.equal(places.length, 4)
  assert.deepEqual([places[2], places[3]], ['twice', 'ou-est-il'])
  for (const place of places) assert.equal((await visit(upgraded, `/s/old-news/p/${place}`)).status, 200, place)
  assert.match(places[0] as string, /^post_/)
  assert.match(places[1] as string, /^post_/)
  assert.match(body, />Où est-il\?</)
  assert.doesNotMatch(body, /Old words|Secret/)
  assert.match((await visit(upgraded, '/s/old-news/archive?q=old')).body, /Nothing was found/)
  await describePosts.run(upgraded.services, {})
  upgraded.clock.advance(61_000)
  const later = (await visit(upgraded, '/s/old-news/')).body
  assert.equal(later.match(/<p>Old words<\/p>/g)?.length, 4)
  assert.doesNotMatch(later, /Secret/)
  assert.equal((await visit(upgraded, '/s/old-news/archive?q=old')).body.match(/<p>Old words<\/p>/g)?.length, 4)
  assert.match((await visit(upgraded, '/s/old-news/archive?q=secret')).body, /Nothing was found/)
})

test('a post that cannot be described keeps no other from it', async () => {
  const { project, list } = await newSite(app)
  for (const subject of ['One', 'Two', 'Three']) await publish(project, list, { subject })
  await database.run`update posts set site_title = null where project_id = ${project.id}`
  const described = () => database.many<{ id: string; is_described: boolean }>`
    select id, site_title is not null as is_described from posts where project_id = ${project.id} order by id`
  const [first, second] = await described()
  // As if something were wrong with the first that nobody has thought of.
  await database.execute(`alter table posts add constraint never_described check (id <> '${first?.id}' or site_title is null) not valid`)
  await describePosts.run(app.services, {})
  assert.deepEqual(
    (await described()).map(({ is_described }) => is_described),
    [false, true, true],
  )
  await database.run`update posts set site_title = null where project_id = ${project.id} and id = ${second?.id}`
  await database.execute('alter table posts drop constraint never_described')
  await describePosts.run(app.services, {})
  assert.deepEqual(
    (await described()).map(({ is_described }) => is_described),
    [true, true, true],
  )
})

test('a post that is taken off the site is nowhere on it, and comes back at its place', async () => {
  const { project, list, at } = await newSite(app)
  const older = await publish(project, list, { subject: 'Wrnog', body_html: '<p>Teh words</p>' })
  await publish(project, list, { subject: 'Newer' })
  const path = `/lists/${list.id}/posts/${older.id}`
  for (const page of ['', '/p/wrnog', '/feed.xml']) assert.match((await visit(app, `${at}${page}`)).body, /Wrnog/)
  const { status, body } = await project.post(`${path}/unpublish`)
  assert.deepEqual([status, body.status, body.published_at, body.slug, body.hidden_at], [200, 'draft', null, 'wrnog', null])
  assert.deepEqual(await project.events(), ['post.updated'])
  await until('it to be gone', async () => !(await visit(app, at)).body.includes('Wrnog'))
  for (const page of ['', '/archive', '/archive?q=teh', '/feed.xml', '/atom.xml', '/feed.json', '/sitemap.xml', '/p/newer'])
    assert.doesNotMatch((await visit(app, `${at}${page}`)).body, /wrnog|Teh words/i, page)
  for (const place of ['wrnog', older.id]) assert.equal((await visit(app, `${at}/p/${place}`)).status, 404)
  assert.equal((await project.patch(path, { subject: 'Wrong', body_html: '<p>The words</p>' })).status, 200)
  assert.equal((await project.post(`${path}/publish`)).body.slug, 'wrnog')
  await until('it to be back', async () => (await visit(app, `${at}/p/wrnog`)).status === 200)
  assert.match((await visit(app, `${at}/p/wrnog`)).body, /<h1>Wrong<\/h1>[\s\S]*The words/)
})

test('what was mailed stays as it was sent, on the site or not', async () => {
  const { project, list, path } = await newPost(app, { subscribers: 1, body: { subject: 'Mailed' } })
  assert.equal((await project.post(`${path}/send`)).status, 202)
  await until('it to be sent', async () => (await project.get(path)).body.status === 'sent')
  const sent = (await project.get(path)).body
  await project.events()
  const hidden = await project.post(`${path}/unpublish`)
  assert.deepEqual([hidden.status, hidden.body], [200, { ...sent, hidden_at: hidden.body.hidden_at }])
  assert.ok(Date.parse(hidden.body.hidden_at))
  const page = `/s/${list.subdomain}/p/mailed`
  await until('it to be gone', async () => (await visit(app, page)).status === 404)
  for (const [action, problem] of [
    ['unpublish', /^status: is sent and off the site; only a post that is on the site/],
    ['send', /^status: is sent; only a draft/],
  ] as const) {
    const refused = await project.post(`${path}/${action}`)
    assert.equal(refused.status, 422)
    assert.match(refused.body.error.message, problem)
  }
  assert.deepEqual((await project.post(`${path}/publish`)).body, sent)
  await until('it to be back', async () => (await visit(app, page)).status === 200)
  assert.equal((await project.post(`${path}/publish`)).status, 422)
  assert.deepEqual(await project.events(), ['post.updated', 'post.updated'])
})
