import type { Log } from '../../base/log.ts'
import { Trouble } from '../../base/trouble.ts'

const create = (log: Log) => ({
  step: new Trouble(log, { line: 'a step of the broadcast sender failed and is tried again', words: 'posts do not go out just now' }),
  lettingGo: new Trouble(log, { line: 'what is not sent from here is due when its lease ends' }),
  journal: new Trouble(log, {
    line: 'sending stops: what is accepted cannot be noted in DATA_DIR; is the disk full?',
    level: 'error',
    again: 'the journal can be written again: sending goes on',
    words: 'posts do not go out just now, since DATA_DIR cannot be written',
  }),
  settling: new Trouble(log, { line: 'outcomes are settled later', words: 'what became of posts cannot be stored just now' }),
  rendering: new Trouble(log, { line: 'messages of a broadcast cannot be put together', level: 'error' }),
  handingOver: new Trouble(log, { line: 'a message could not be handed over', level: 'error' }),
})

const known = new WeakMap<Log, ReturnType<typeof create>>()

/** What may befall whoever sends broadcasts. What strikes one message mostly strikes them all. */
export function troublesOf(log: Log): ReturnType<typeof create> {
  const troubles = known.get(log) ?? create(log)
  known.set(log, troubles)
  return troubles
}
