/** What may be done anywhere, in any thread. Compiling itself (`compile-post.ts`) is done by the thread behind the compiler. */
export type { CompiledParts, Preview } from './compile-post.ts'
export { type Compiler, CompilerBusy, createCompiler } from './compiler.ts'
export type { FilledPost } from './fill.ts'
export { type CompiledPost, openPost } from './open-post.ts'
export type { Recipient } from './part.ts'
export { listFieldsOf } from './post-headers.ts'
export type { PostFrame, PostFrame as Frame, PostSource } from './post-source.ts'
export { TemplateError, type TemplateField } from './template-error.ts'
