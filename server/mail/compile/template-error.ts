/** Where a template stands in the post, named as the API names it. */
export type TemplateField = 'subject' | 'preview_text' | 'body_html' | 'body_text' | 'body_markdown'

/** A template that does not work, and where: what the author reads, so in words and not in a stack. */
export class TemplateError extends Error {
  readonly field: TemplateField
  /** Both count from 1. */
  readonly line: number
  readonly column: number
  /** The message without the place, for those who show the place themselves. */
  readonly problem: string

  constructor(field: TemplateField, place: { line: number; column: number }, problem: string) {
    super(`line ${place.line}, column ${place.column}: ${problem}`)
    this.name = 'TemplateError'
    this.field = field
    this.line = place.line
    this.column = place.column
    this.problem = problem
  }
}
