import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, invalid } from '../base/errors.ts'
import { problemIn, refusalWords } from './refusal-words.ts'

test('the names of fields become words that stand on the form, and the whole a sentence', () => {
  const refusals: [ApiError, string][] = [
    [invalid('email', 'has no @'), 'The address has no @.'],
    [
      invalid('id', 'would leave the project without an owner. Make another first'),
      'This would leave the project without an owner. Make another first.',
    ],
    [
      new ApiError('validation_error', 'name: must not be empty; scope: must name one'),
      'The name must not be empty; the choice of what it may do must name one.',
    ],
    [
      new ApiError('not_found', 'This invite does not exist. Check the id: it may be cut off.'),
      'This invite does not exist. Check the id: it may be cut off.',
    ],
    [new ApiError('forbidden', 'role: you cannot make somebody an owner. Ask one.'), 'You cannot make somebody an owner. Ask one.'],
    [invalid('constructor', 'is odd'), 'Constructor: is odd.'],
  ]
  for (const [error, words] of refusals) assert.equal(refusalWords(error), words)
  assert.equal(problemIn(invalid('id', 'was revoked')), 'was revoked')
  assert.equal(problemIn(new ApiError('forbidden', 'id: no')), 'id: no')
})
