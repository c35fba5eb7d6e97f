import type { TestEvent } from 'node:test/reporters'

/** What a test that failed leaves behind: one line of JSON each, for tests/run.ts to read after the run. */
export interface Failure {
  file: string
  name: string
  message: string
}

/** A reporter beside the one that people read. A test whose only fault is one of its parts is passed over: the part is told. */
// biome-ignore lint/style/noDefaultExport: Node looks for a reporter there
export default async function* failures(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type !== 'test:fail') continue
    const { name, file, details } = event.data
    if ('failureType' in details.error && details.error.failureType === 'subtestsFailed') continue
    const cause: unknown = details.error.cause
    const failure: Failure = {
      file: file ?? name,
      name,
      message: cause instanceof Error ? cause.message : String(cause ?? details.error.message),
    }
    yield `${JSON.stringify(failure)}\n`
  }
}
