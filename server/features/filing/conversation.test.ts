import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answeredSubject } from './conversation.ts'

test('a subject says what is answered, in the languages of mail programs', () => {
  for (const subject of ['Re: Tea', 'RE: re: tea', 'AW: Tea', 'Sv:  Tea ', 'Re[2]: Tea', 'Antw: Tea', '回复：Tea', 'Odp: Re: TEA'])
    assert.equal(answeredSubject(subject), 'tea', subject)
})

test('other subjects say nothing', () => {
  for (const subject of [null, '', 'Tea', 'Re:', 'Re: Re:', 'Fwd: Tea', 'Regarding: tea', 'Rest: tea'])
    assert.equal(answeredSubject(subject), null, `${subject}`)
})
