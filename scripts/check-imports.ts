import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'

/**
 * `npm run check`: who may import whom. Folders of `server/` down the side, what each may reach into across; everything else is a
 * mistake. A feature enters another only through its index.ts, or takes its shapes from its noun file.
 */
const allowed: Record<string, string[]> = {
  base: [],
  database: ['base'],
  mail: ['base'],
  blobs: ['base'],
  dns: ['base'],
  acme: ['base'],
  metrics: ['base', 'database'],
  inbound: ['base', 'database', 'mail', 'blobs', 'metrics'],
  jobs: ['base', 'database', 'features', 'operations', 'events', 'delivery', 'inbound'],
  events: ['base', 'database', 'operations', 'features'],
  operations: ['base', 'database', 'mail', 'blobs', 'dns', 'jobs', 'features', 'delivery'],
  delivery: ['base', 'database', 'mail', 'events', 'metrics'],
  features: ['base', 'database', 'mail', 'blobs', 'dns', 'acme', 'events', 'delivery', 'jobs', 'operations', 'metrics'],
  http: ['base', 'database', 'events', 'operations', 'metrics'],
  site: ['base', 'database', 'delivery', 'features', 'operations'],
  roles: ['base', 'database', 'blobs', 'delivery', 'events', 'features', 'http', 'inbound', 'jobs', 'operations', 'site', 'metrics'],
  cli: ['base', 'database', 'blobs', 'delivery', 'dns', 'features', 'http', 'inbound', 'jobs', 'operations', 'main.ts'],
  'main.ts': ['base', 'database', 'blobs', 'delivery', 'dns', 'features', 'http', 'inbound', 'jobs', 'mail', 'operations', 'roles'],
}

/** The narrow doors: files that may take one more thing than their folder, and why is told in them. */
const narrow: Record<string, RegExp> = {
  // The list of all operations and of all jobs name every feature; nothing else in their folders may.
  'operations → features': /^operations\/all-operations\.ts$/,
  'jobs → features': /^jobs\/all-jobs\.ts$/,
  'jobs → events': /^jobs\/clean-up\.ts$/,
  'jobs → delivery': /^jobs\/clean-up\.ts$/,
  'jobs → inbound': /^jobs\/clean-up\.ts$/,
  // The transport is one of the services that the program is made of.
  'operations → delivery': /^operations\/context\.ts$/,
  'operations → blobs': /^operations\/context\.ts$/,
  // The document tells of every event.
  'http → events': /^http\/openapi-webhooks\.ts$/,
  // Event data have the API's own shapes.
  'events → features': /^events\/catalogue\.ts$/,
}

/** What calls other servers over HTTP by itself: the guard, and files whose address the operator gave. All else calls through the guard. */
const callers: Record<string, string> = {
  'acme/exchange.ts': 'ACME_DIRECTORY_URL',
  'base/guarded-fetch/exchange.ts': 'the guard',
  'base/guarded-fetch/connections.ts': 'the guard',
  'blobs/s3-store.ts': 'BLOB_URL',
  'cli/doctor-network.ts': 'this server itself',
  'roles/https.ts': 'it answers, and calls nobody',
  'features/payments/stripe.ts': 'STRIPE_API_URL',
}
const calling = /import (?!type )[^;'"]*? from 'node:https?'|import\('node:https?'\)|(?:await|return|=>|=) (?:globalThis\.)?fetch\(/
/** `fetch` is given to them: it is the guard. */
const isGiven = /\bfetch: Fetch\b/

const problems: string[] = []
const imports = new Map<string, string[]>()

for (const path of globSync('server/**/*.ts').filter((file) => !file.endsWith('.test.ts'))) {
  const file = relative('server', path)
  const text = readFileSync(path, 'utf8')
  if (calling.test(text) && !isGiven.test(text) && !callers[file])
    problems.push(`${file} calls over HTTP by itself: what somebody else has named goes through services.guardedFetch`)
  const targets = [...text.matchAll(/(?:(?:import|export)\s+(type\s)?[^;'"]*?from\s+|import\()'(\.[^']+)'/g)].map((match) => ({
    isType: match[1] !== undefined,
    target: normalize(join(dirname(file), match[2] as string)),
  }))
  imports.set(
    file,
    targets.filter(({ isType }) => !isType).map(({ target }) => target),
  )
  for (const { target } of targets) check(file, target)
}
findCycles()

if (problems.length > 0) {
  console.error(problems.join('\n'))
  process.exitCode = 1
} else {
  console.log(`${imports.size} files import only what they may, without cycles.`)
}

function check(file: string, target: string): void {
  const [from, to] = [folderOf(file), folderOf(target)]
  const door = `${from} → ${to}`
  if (from !== to && !allowed[from]?.includes(to)) problems.push(`${file} imports ${target}: ${from}/ may not reach into ${to}/`)
  if (from !== to && narrow[door] && !narrow[door].test(file))
    problems.push(`${file} imports ${target}: of ${from}/ only ${narrow[door].source} may`)
  if (door === 'features → delivery' && !/delivery\/(enqueue|send-now|control)\.ts$/.test(target))
    problems.push(`${file} imports ${target}: features call delivery/{enqueue,send-now,control}.ts only`)
  if (to !== 'features') return
  const [, feature, inner] = target.split('/')
  const isOwn = from === 'features' && file.split('/')[1] === feature
  // `subscribers/subscriber.ts`: the noun itself, with shapes and pure rules.
  const isShape = feature?.startsWith((inner ?? '').replace(/\.ts$/, '')) === true || target === 'features/inbox/inbox-email.ts'
  if (door === 'events → features' && !isShape) problems.push(`${file} imports ${target}: events take shapes from features, nothing else`)
  if (!isOwn && !isShape && inner !== 'index.ts')
    problems.push(`${file} imports ${target}: other features are entered through ${feature}/index.ts`)
}

function folderOf(file: string): string {
  return file.split('/')[0] as string
}

function findCycles(): void {
  const state = new Map<string, 'open' | 'done'>()
  const visit = (file: string, trail: string[]): void => {
    if (state.get(file) === 'done') return
    if (state.get(file) === 'open') {
      problems.push(`A cycle: ${[...trail.slice(trail.indexOf(file)), file].join(' → ')}`)
      return
    }
    state.set(file, 'open')
    for (const target of imports.get(file) ?? []) visit(target, [...trail, file])
    state.set(file, 'done')
  }
  for (const file of imports.keys()) visit(file, [])
}
