// The entry of the thread that server/mail/inbound/mail-reader.ts starts; see sender-thread.js for why it is plain JavaScript.
import * as nodeModule from 'node:module'

nodeModule.enableCompileCache?.()
const { runReaderThread } = await import('../server/mail/inbound/reader-thread.ts')
runReaderThread()
