import { defineJob } from '../../jobs/jobs.ts'
import type { Move } from './merge-queries.ts'
import { moveThings } from './move-things.ts'
import { retryOnConflict } from './retry-on-conflict.ts'

/** A request that was under way during a merge, or began in the half second in which its key was still known, wrote to the old place. */
export const moveRest = defineJob<Move>({
  name: 'agents.move_rest',
  run: ({ database }, move) => retryOnConflict(() => database.transaction((tx) => moveThings(tx, move))),
})
