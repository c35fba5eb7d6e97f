// The entry of the thread that server/mail/compile/compiler.ts starts; see sender-thread.js for why it is plain JavaScript.
import * as nodeModule from 'node:module'

nodeModule.enableCompileCache?.()
const { runCompilerThread } = await import('../server/mail/compile/compiler-thread.ts')
runCompilerThread()
