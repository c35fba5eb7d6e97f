// The entry of the thread that server/roles/start-sender-thread.ts starts. Plain JavaScript with nothing imported before the cache is
// on: otherwise the thread would read all sources anew, for half a second and 30 MB.
import * as nodeModule from 'node:module'

nodeModule.enableCompileCache?.()
const { runSenderThread } = await import('../server/roles/sender-thread.ts')
await runSenderThread()
