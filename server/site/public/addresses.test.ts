import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { createProject } from '../../../tests/support/project.ts'
import { sendRaw } from '../../../tests/support/raw-http.ts'
import { newSite, publish, visit } from '../../../tests/support/sites.ts'
import { scopes } from '../../operations/context.ts'

const app = await startApp()

test('a slash behind a page leads to the page, and never to another host', async () => {
  const { project, list, at } = await newSite(app)
  const { slug } = await publish(project, list)
  for (const page of ['archive', 'subscribe', 'embed', `p/${slug}`]) {
    const { status, headers } = await visit(app, `${at}/${page}/`)
    assert.deepEqual([status, headers.get('location')], [301, `${at}/${page}`], page)
  }
  for (const page of ['nothing/', 'archive//', '/evil.example/', '%2Fevil.example/', 'p/../../evil/', 'p//'])
    assert.equal((await visit(app, `${at}/${page}`)).headers.get('location'), null, page)
})

test('who asks for a post by its id is led there, whatever they have kept', async () => {
  const { project, list, at } = await newSite(app)
  const { id, slug } = await publish(project, list)
  for (const known of ['*', '"x"']) {
    const { status, headers } = await visit(app, `${at}/p/${id}`, { 'if-none-match': known })
    assert.deepEqual([status, headers.get('location')], [301, `${at}/p/${slug}`])
  }
  assert.equal((await visit(app, `${at}/p/${slug}`, { 'if-none-match': '*' })).status, 304)
})

test('on a host of its own nothing leads to where only the installation has pages', async () => {
  const hosted = await startApp({ PUBLIC_URL: 'http://posthaste.example' })
  const url = `http://127.0.0.1:${hosted.config.PORT}`
  const project = await createProject(hosted.services.database, url, scopes)
  const { body: list } = await project.post('/lists', { name: 'News' })
  const ask = (host: string, method: string, path: string) =>
    sendRaw(
      url,
      `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nAccept: text/html\r\nOrigin: http://evil.example\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 0\r\n\r\n`,
    )
  const refused = await ask(`${list.subdomain}.posthaste.example`, 'POST', '/subscribe')
  assert.deepEqual([refused.status, refused.body.includes('/account'), refused.body.includes('href="/"')], [403, false, true])
  assert.match((await ask('posthaste.example', 'POST', `/s/${list.subdomain}/subscribe`)).body, /href="\/account"/)
  const led = await ask(`${list.subdomain}.posthaste.example`, 'GET', '/archive/')
  assert.deepEqual([led.status, led.headers.location], [301, '/archive'])
})
