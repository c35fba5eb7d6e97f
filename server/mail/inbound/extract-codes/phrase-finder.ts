import { fold, isWordLetter, plainLetters } from './fold.ts'

export interface Found<T> {
  start: number
  end: number
  value: T
}

/** Letter by letter, a tree of all phrases. */
interface Node<T> {
  next: Map<number, Node<T>>
  /** A phrase ends here. */
  end: { isStem: boolean; value: T } | null
}

const newNode = <T>(): Node<T> => ({ next: new Map(), end: null })

/**
 * Finds any of hundreds of phrases in folded text, in one pass and without patterns; of those that begin at one place the longest wins.
 * A phrase that ends in `*` may be the beginning of a longer word.
 */
export class PhraseFinder<T> {
  readonly #root: Node<T> = newNode()

  constructor(phrases: Iterable<readonly [phrase: string, value: T]>) {
    for (const [written, value] of phrases) {
      const isStem = written.endsWith('*')
      const phrase = fold(plainLetters(isStem ? written.slice(0, -1) : written))
      let node = this.#root
      for (let at = 0; at < phrase.length; at++) {
        const code = phrase.charCodeAt(at)
        const next = node.next.get(code) ?? newNode()
        node.next.set(code, next)
        node = next
      }
      node.end = { isStem, value }
    }
  }

  /** All phrases of the text from left to right; none lies in another. */
  find(folded: string): Found<T>[] {
    const found: Found<T>[] = []
    for (let match = this.next(folded, 0); match; match = this.next(folded, match.end)) found.push(match)
    return found
  }

  has(folded: string): boolean {
    return this.next(folded, 0) !== null
  }

  next(folded: string, from: number): Found<T> | null {
    let isInWord = isWordLetter(folded.charCodeAt(from - 1))
    for (let at = from; at < folded.length; at++) {
      const isLetter = isWordLetter(folded.charCodeAt(at))
      const match = isLetter && isInWord ? null : this.#longestAt(folded, at)
      if (match) return match
      isInWord = isLetter
    }
    return null
  }

  /** The longest phrase that begins exactly here, on a word's beginning. */
  matchAt(folded: string, at: number): Found<T> | null {
    if (isWordLetter(folded.charCodeAt(at)) && isWordLetter(folded.charCodeAt(at - 1))) return null
    return this.#longestAt(folded, at)
  }

  #longestAt(folded: string, start: number): Found<T> | null {
    let longest: Found<T> | null = null
    let node = this.#root.next.get(folded.charCodeAt(start))
    for (let end = start + 1; node; end++) {
      const code = folded.charCodeAt(end)
      if (node.end && (node.end.isStem || !isWordLetter(code) || !isWordLetter(folded.charCodeAt(end - 1))))
        longest = { start, end, value: node.end.value }
      node = node.next.get(code)
    }
    return longest
  }
}
