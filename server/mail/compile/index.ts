export {
  type CompiledPost,
  checkTemplates,
  compilePost,
  type PostFrame,
  type PostFrame as Frame,
  type PostSource,
  type Preview,
  previewOf,
  usesContact,
} from './compile-post.ts'
export type { FilledPost } from './fill.ts'
export { TemplateError, type TemplateField } from './liquid.ts'
export type { Recipient } from './part.ts'
