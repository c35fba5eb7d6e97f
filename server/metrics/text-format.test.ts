import assert from 'node:assert/strict'
import { test } from 'node:test'
import { label, toText } from './text-format.ts'

test('a metric has its help, its type and its numbers, and ends with a line end', () => {
  const text = toText([
    { name: 'a_total', type: 'counter', help: 'Of a.', samples: [{ value: 3 }] },
    {
      name: 'b',
      type: 'gauge',
      help: 'Of b\nand \\c.',
      samples: [
        { labels: label('of', 'one'), value: 0.5 },
        { labels: 'of="two"', value: 0 },
      ],
    },
    { name: 'unknown', type: 'gauge', help: 'Nobody knows.', samples: [] },
  ])
  assert.equal(
    text,
    '# HELP a_total Of a.\n# TYPE a_total counter\na_total 3\n# HELP b Of b\\nand \\\\c.\n# TYPE b gauge\nb{of="one"} 0.5\nb{of="two"} 0\n',
  )
})

test('what a label says cannot end it', () => {
  assert.equal(label('name', 'a "b" \\ c\nd'), 'name="a \\"b\\" \\\\ c\\nd"')
})
