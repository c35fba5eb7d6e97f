import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newSite } from '../../../tests/support/sites.ts'
import type { Queryable } from '../../database/database.ts'
import { toStatement } from '../../database/sql.ts'
import { findSite, findSitePost, newestSitePosts, pageSitePosts } from './site-queries.ts'

const app = await startApp({ ROLES: 'http' })
const { database } = app.services
const posts = 2_000

interface Plan {
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

/** The most rows that any step of a question took up. */
async function mostRows(ask: (db: Queryable) => Promise<unknown>): Promise<number> {
  let most = -1
  const explain = async (strings: TemplateStringsArray, ...values: unknown[]) => {
    const statement = toStatement(strings, values)
    const { rows } = await database.execute(`explain (analyze, format json) ${statement.text}`, statement.values)
    const walk = (plan: Plan): void => {
      most = Math.max(most, (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops'])
      for (const below of plan.Plans ?? []) walk(below)
    }
    const [explained] = rows as { 'QUERY PLAN': [{ Plan: Plan }] }[]
    assert.ok(explained)
    walk(explained['QUERY PLAN'][0].Plan)
  }
  await ask({
    many: async (...template) => {
      await explain(...template)
      return []
    },
    first: async (...template) => {
      await explain(...template)
      return null
    },
    run: () => assert.fail('a question changes nothing'),
    copy: () => assert.fail('a question changes nothing'),
  })
  return most
}

test('a page takes up what it shows, however many posts there are, and whether or not PostgreSQL knows of them', async () => {
  const [{ list }, { list: empty }] = [await newSite(app), await newSite(app)]
  await database.run`
    insert into posts (project_id, list_id, id, subject, body_text, status, published_at, slug, site_title, site_excerpt, site_words, created_at, updated_at)
    select l.project_id, l.id, gen_random_uuid(), 'Post ' || n, 'Words', 'published', now() - n * interval '1 hour', 'post-' || n, 'Post ' || n, 'Words',
      to_tsvector('simple', 'words ' || md5(n::text)), now(), now()
    from lists l, generate_series(1, ${posts}::int) n where l.subdomain = ${list.subdomain}`
  const all = { after: null, words: [], limit: 11 }
  for (const state of ['never looked at', 'analysed']) {
    if (state === 'analysed') await database.run`analyze posts`
    for (const { subdomain } of [list, empty]) {
      const asked: [string, Promise<number>][] = [
        ['the site', mostRows((db) => findSite(db, subdomain))],
        ['the newest', mostRows((db) => pageSitePosts(db, { ...all, subdomain }))],
        ['the feed', mostRows((db) => newestSitePosts(db, subdomain, 20))],
        ['a common word', mostRows((db) => pageSitePosts(db, { ...all, subdomain, words: ['words'] }))],
      ]
      for (const [what, rows] of asked) assert.ok((await rows) <= 20, `${what} of ${subdomain}, ${state}: ${await rows} rows`)
    }
  }
  const one = await mostRows((db) => findSitePost(db, list.subdomain, { slug: 'post-1000', id: null }))
  assert.ok(one <= 20, `one post: ${one} rows`)
  const rare = await mostRows((db) => pageSitePosts(db, { ...all, subdomain: list.subdomain, words: ['nowhere'] }))
  assert.ok(rare <= 20, `a rare word: ${rare} rows`)
})
