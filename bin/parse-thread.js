// The entry of the threads that server/inbound/parse-pool.ts starts; see sender-thread.js for why it is plain JavaScript.
import * as nodeModule from 'node:module'

nodeModule.enableCompileCache?.()
const { runParseThread } = await import('../server/inbound/parse-thread.ts')
runParseThread()
