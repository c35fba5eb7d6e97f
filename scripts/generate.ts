import { readFileSync, writeFileSync } from 'node:fs'
import { readConfig } from '../server/base/config.ts'
import { settings } from '../server/base/settings.ts'
import { catalogue, eventTypes } from '../server/events/catalogue.ts'
import { openApiDocument } from '../server/http/openapi.ts'
import { eventExample } from '../server/http/openapi-webhooks.ts'
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

Everything is set by environment variables, or by a file \`.env\` in the folder where a command is started (\`NAME=value\` lines; what is set
outside goes before it). A value that does not fit stops the start with one line that names it.
This page is made from \`server/base/settings.ts\` by \`npm run generate\`.

| Name | Default | What it does |
|---|---|---|
${rows.join('\n')}
`
}

function eventsPage(): string {
  const rows = Object.entries(catalogue).map(
    ([type, { when, data }]) =>
      `| [\`${type}\`](#${type.replace('.', '')}) | ${when} | ${Object.keys(data.shape)
        .map((field) => `\`${field}\``)
        .join(', ')} |`,
  )
  const examples = eventTypes.map((type) => `### ${type}\n\n\`\`\`json\n${JSON.stringify(eventExample(type), null, 2)}\n\`\`\`\n`)
  return `# Events

Every change of state writes an event in its own transaction. Webhooks and the live stream (\`GET /v1/events/stream\`) tell them in this form; \`openapi.json\`
has the schema of each under \`webhooks\`. This page is made from \`server/events/catalogue.ts\` by \`npm run generate\`.

| Event | Fires when | Data |
|---|---|---|
${rows.join('\n')}

The ids come first, then the thing itself as the API shows it, as it is after what happened. Events are not cut down to what changed, and fields may be added.

- \`email\` is null in events about a copy of a post: a million readers would be told a million times what the ids say.
- \`email.received\` has both bodies, up to 64 kB together, and \`truncated\` when something did not fit. They are in it while a webhook or a stream listens to the type
  (and half a second later than it began to); otherwise \`text_body\` and \`html_body\` are left out.
- Of recipients of a post, \`email.sent\`, \`email.delivered\`, \`email.opened\` and \`email.clicked\` are written only while something in the project listens.
- Events that were written before an upgrade have the fields of their time.

## Examples

${examples.join('\n')}`
}
