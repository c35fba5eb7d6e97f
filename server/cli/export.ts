import { pipeline } from 'node:stream/promises'
import { exportCsv } from '../features/subscribers/index.ts'
import { findListAnywhere } from './cli-queries.ts'
import { withDatabase } from './open.ts'
import { writeWhole } from './output-file.ts'
import { createProgress, megabytes } from './progress.ts'

/** To standard output unless told otherwise. */
export async function exportSubscribers({ list: wanted, out = '-' }: { list: string; out: string | undefined }): Promise<void> {
  await withDatabase(async ({ database }) => {
    const list = await findListAnywhere(database, wanted)
    const progress = createProgress('Exporting')
    let bytes = 0
    const counted = async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        bytes += chunk.length
        // Not between the lines that a terminal shows.
        if (out !== '-' || !process.stdout.isTTY) progress.show({ bytes, of: null })
        yield chunk
      }
    }
    await writeWhole(out, async (output) =>
      pipeline(await exportCsv(database, { project_id: list.project_id, list_id: list.id }), counted, output, { end: out !== '-' }),
    ).finally(progress.end)
    if (out !== '-') console.error(`Wrote ${megabytes(bytes)} to ${out}.`)
  })
}
