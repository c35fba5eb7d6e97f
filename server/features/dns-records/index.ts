export { judgeAlias, missAlias, plainHost } from './alias.ts'
export { type Answers, type Interest, isSilent, type Question, survey } from './ask.ts'
export { checkDue, type Turn } from './check-due.ts'
export { checkTogether, isFresh } from './check-now.ts'
export {
  type Finding,
  type Findings,
  firstOf,
  type Outcome,
  outcomeOf,
  problemsIn,
  showRecords,
  type WantedRecord,
  withMemory,
} from './dns-record.ts'
export {
  type Case,
  conflict,
  doubledName,
  found,
  isNowhere,
  mayBeOld,
  missing,
  shortName,
  shown,
  unknown,
  valuesOf,
  wrong,
} from './finding.ts'
export {
  countMiss,
  hourMs,
  later,
  type Misses,
  minuteMs,
  nextCheckInUse,
  nextCheckOfOpen,
  nextCheckOfSilent,
  noMisses,
  since,
} from './pace.ts'
export { hintsOfMemory, isRightFirstHand } from './seen-elsewhere.ts'
