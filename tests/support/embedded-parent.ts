/**
 * A process that owns an embedded server, for tests that kill it: `node embedded-parent.ts <data folder> [exit]`.
 * Prints one line of JSON when the server runs, then waits to be killed, or leaves at once without stopping the server.
 */
import { startEmbeddedServer } from '../../server/database/embedded/index.ts'

const [dataDir, then] = process.argv.slice(2)
if (!dataDir) throw new Error('usage: embedded-parent.ts <data folder> [exit]')

const silent = () => {}
const server = await startEmbeddedServer({
  dataDir,
  log: { debug: silent, info: silent, warn: silent, error: silent },
  settings: { fsync: 'off' },
})
console.log(JSON.stringify(server.connection))
if (then === 'exit') process.exit(0)
setInterval(silent, 60_000)
