import { readFileSync, writeFileSync } from 'node:fs'
import { readConfig, settings } from '../server/base/config.ts'
import { catalogue } from '../server/events/catalogue.ts'
import { openApiDocument } from '../server/http/openapi.ts'
import { allOperations } from '../server/operations/all-operations.ts'

/**
 * `npm run generate` writes what is made from the code; `npm run generate -- --check` (in CI) says what is out of date instead.
 */
const files: Record<string, string> = {
  'docs/configuration.md': configurationPage(),
  'docs/events.md': eventsPage(),
  'docs/openapi.json': `${JSON.stringify(openApiDocument(allOperations, readConfig({})), null, 2)}\n`,
}

const isCheck = process.argv.includes('--check')
for (const [path, text] of Object.entries(files)) {
  if (!isCheck) {
    writeFileSync(path, text)
    console.log(`wrote ${path}`)
  } else if (read(path) !== text) {
    console.error(`${path} is out of date: run \`npm run generate\` and commit it.`)
    process.exitCode = 1
  }
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}

function configurationPage(): string {
  const rows = Object.entries(settings).map(([name, setting]) => {
    const fallback = typeof setting.default === 'string' && setting.default !== '' ? `\`${setting.default}\`` : 'unset'
    return `| \`${name}\` | ${'default_text' in setting && setting.default_text ? setting.default_text : fallback} | ${setting.about} |`
  })
  return `# Configuration

Everything is set by environment variables. A value that does not fit stops the start with one line that names it.
This page is made from \`server/base/config.ts\` by \`npm run generate\`.

| Name | Default | What it does |
|---|---|---|
${rows.join('\n')}
`
}

function eventsPage(): string {
  const rows = Object.entries(catalogue).map(
    ([type, { when, data }]) =>
      `| \`${type}\` | ${when} | ${Object.keys(data.shape)
        .map((field) => `\`${field}\``)
        .join(', ')} |`,
  )
  return `# Events

Every change of state writes an event in its own transaction. This page is made from \`server/events/catalogue.ts\` by \`npm run generate\`.

| Event | Fires when | Data |
|---|---|---|
${rows.join('\n')}
`
}
