import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readJournal } from '../../server/delivery/broadcast/journal.ts'
import { until } from '../support/until.ts'
import { judge, makeDue, untilSent, type Verdict } from './judge.ts'
import type { Broadcast, Sender, Stage } from './stage.ts'

/** One way in which things go wrong while a broadcast is on its way. Answers what came of it. */
export interface Scenario {
  name: string
  run(stage: Stage, size: Size): Promise<Verdict>
  /** Kills the database server, so it needs one of its own. */
  needsServer?: true
}

export interface Size {
  recipients: number
  kills: number
  /** Kills PostgreSQL, and waits for nothing. */
  killServer?: () => void
}

const between = (low: number, high: number): number => low + Math.random() * (high - low)

async function begin(stage: Stage, recipients: number): Promise<Broadcast> {
  stage.sink.behave({})
  const broadcast = await stage.newBroadcast(recipients)
  await broadcast.act('send')
  return broadcast
}

/** Most kills find a sender in the middle of its work; some find it starting, or burying the one before. */
const untilAnyMoment = (stage: Stage, sender: Sender): Promise<void> =>
  Math.random() < 0.2 ? sleep(between(0, 1_500)) : untilBusy(stage, sender)

async function untilBusy(stage: Stage, sender: Sender): Promise<void> {
  const before = await stage.sink.count()
  const isBusy = async () => (await stage.sink.count()) > before || !sender.isRunning() || (await isAllSent(stage))
  await until('the sender to send, or to have nothing left', isBusy, { withinMs: 30_000, everyMs: 50 }).catch(() => {})
  await sleep(between(0, 700))
}

const isAllSent = (stage: Stage): Promise<boolean> =>
  stage.query(`select 1 from broadcasts where status in ('sending', 'paused')`).then(
    (open) => open.length === 0,
    // The database is one of the things that are killed.
    () => false,
  )

async function killAgainAndAgain(stage: Stage, { kills, senders }: { kills: number; senders: number }): Promise<void> {
  const running = Array.from({ length: senders }, () => stage.startSender())
  for (let kill = 0; kill < kills; kill++) {
    const at = Math.floor(Math.random() * senders)
    const sender = running[at] as Sender
    await untilAnyMoment(stage, sender)
    await sender.kill()
    running[at] = stage.startSender()
  }
}

async function finish(stage: Stage, broadcast: Broadcast, excused: Iterable<string> = []): Promise<Verdict> {
  await untilSent(stage, broadcast)
  return close(stage, broadcast, excused)
}

async function close(stage: Stage, broadcast: Broadcast, excused: Iterable<string> = []): Promise<Verdict> {
  const verdict = await judge(stage, broadcast, excused)
  await stage.killSenders()
  return verdict
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
/** Where a clock stands after each jump, seen from the true time: by less than a lease, by minutes, by hours, to both sides. */
const clockJumps = [-hourMs, 2 * minuteMs, 3 * hourMs, -2 * minuteMs, -3_000, 0, 10 * minuteMs, -5 * hourMs, 0, 24 * hourMs]

const emailsOf = async (stage: Stage, where: string, values: unknown[]): Promise<string[]> =>
  (await stage.query<{ email: string }>(`select email from deliveries where ${where}`, values)).map(({ email }) => email)

export const scenarios: Scenario[] = [
  {
    name: 'one sender, killed again and again',
    async run(stage, { recipients, kills }) {
      const broadcast = await begin(stage, recipients)
      await killAgainAndAgain(stage, { kills, senders: 1 })
      return finish(stage, broadcast)
    },
  },
  {
    name: 'three senders on one database, one after the other killed',
    async run(stage, { recipients, kills }) {
      const broadcast = await begin(stage, recipients)
      await killAgainAndAgain(stage, { kills, senders: 3 })
      return finish(stage, broadcast)
    },
  },
  {
    name: 'a peer that defers, refuses, hangs, hangs up and restarts; two senders, some kills',
    async run(stage, { recipients, kills }) {
      const broadcast = await begin(stage, recipients)
      stage.sink.behave({ defer: 0.02, refuse: 0.005, deferMessage: 0.01, drop: 0.003, dropAccepted: 0.002, hang: 0.0005 })
      const passing = setInterval(() => void makeDue(stage), 500)
      const restarts = setInterval(() => stage.sink.restart(between(0, 500)), 2_500)
      await killAgainAndAgain(stage, { kills: Math.ceil(kills / 4), senders: 2 })
      clearInterval(passing)
      clearInterval(restarts)
      return finish(stage, broadcast)
    },
  },
  {
    name: 'PostgreSQL killed under two senders',
    needsServer: true,
    async run(stage, { recipients, kills, killServer }) {
      const broadcast = await begin(stage, recipients)
      const running = [stage.startSender(), stage.startSender()]
      for (let kill = 0; kill < Math.ceil(kills / 4); kill++) {
        await untilBusy(stage, running[0] as Sender)
        killServer?.()
      }
      return finish(stage, broadcast)
    },
  },
  {
    name: 'two senders on one folder, one gone for good: the other reads its journal',
    async run(stage, { recipients }) {
      const dataDir = mkdtempSync(join(tmpdir(), 'posthaste-crash-shared-'))
      const [gone] = [stage.startSender({ dataDir, leaseSeconds: 3 }), stage.startSender({ dataDir, leaseSeconds: 3 })]
      const journals = join(dataDir, 'journals')
      const names = () => (existsSync(journals) ? readdirSync(journals).filter((name) => !name.startsWith('.')) : [])
      await until('both to have a journal', () => names().length === 2, { withinMs: 30_000 })
      const broadcast = await begin(stage, recipients)
      // Slowly at first: otherwise the one that begins may be done before the other has begun.
      stage.sink.behave({ hang: 1, hangMs: 200 })
      const owners = () => stage.query(`select distinct lease_owner from deliveries where status = 'sending'`)
      await until('both to send', async () => (await owners()).length === 2, { withinMs: 60_000 })
      stage.sink.behave({})
      await untilBusy(stage, gone)
      await gone.kill()
      const verdict = await finish(stage, broadcast)
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 })
      return verdict
    },
  },
  {
    name: 'a machine that is gone for good: its claims pass on, its journal is lost',
    async run(stage, { recipients }) {
      const broadcast = await begin(stage, recipients)
      const dataDir = mkdtempSync(join(tmpdir(), 'posthaste-crash-gone-'))
      const sender = stage.startSender({ dataDir })
      const isSending = async () => (await stage.sink.report()).accepted.some(([to]) => to.endsWith(broadcast.host))
      await until('the sender to send', isSending, { withinMs: 120_000 })
      await sleep(between(100, 600))
      await sender.kill()
      // What the peer had accepted and only this journal knew: the price of losing a disk.
      const lost = readdirSync(join(dataDir, 'journals')).flatMap((node) => readJournal(join(dataDir, 'journals', node)))
      const excused = await emailsOf(stage, `status = 'sending' and id = any($1::uuid[])`, [lost])
      rmSync(dataDir, { recursive: true, force: true })
      stage.startSender()
      return finish(stage, broadcast, excused)
    },
  },
  {
    name: 'a sender that sleeps for longer than its lease, and wakes up',
    async run(stage, { recipients }) {
      const broadcast = await begin(stage, recipients)
      const sleeper = stage.startSender({ leaseSeconds: 2 })
      await untilBusy(stage, sleeper)
      sleeper.signal('SIGSTOP')
      const held = await stage.query<{ email: string; lease_owner: string }>(
        `select email, lease_owner from deliveries where status = 'sending'`,
      )
      const other = stage.startSender({ dataDir: mkdtempSync(join(tmpdir(), 'posthaste-crash-other-')), leaseSeconds: 2 })
      const isTaken = async () => (await emailsOf(stage, `status = 'sending' and lease_owner = $1`, [held[0]?.lease_owner])).length === 0
      await until('the other to take what the sleeper has', isTaken, { withinMs: 180_000, everyMs: 200 })
      sleeper.signal('SIGCONT')
      const verdict = await finish(
        stage,
        broadcast,
        held.map(({ email }) => email),
      )
      rmSync(other.dataDir, { recursive: true, force: true, maxRetries: 5 })
      return verdict
    },
  },
  {
    name: 'clocks that differ by more than a lease, and jump',
    async run(stage, { recipients, kills }) {
      const broadcast = await begin(stage, recipients)
      const dataDir = mkdtempSync(join(tmpdir(), 'posthaste-crash-clock-'))
      const [one, other] = [stage.startSender({ hasMovableClock: true }), stage.startSender({ hasMovableClock: true, dataDir })]
      other.moveClock(3 * hourMs)
      for (let jump = 0; jump < kills; jump++) {
        const sender = jump % 2 === 0 ? one : other
        await untilBusy(stage, sender)
        sender.moveClock(clockJumps[jump % clockJumps.length] as number)
      }
      const verdict = await finish(stage, broadcast)
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 })
      return verdict
    },
  },
  {
    name: 'paused and resumed again and again, with kills',
    async run(stage, { recipients, kills }) {
      const broadcast = await begin(stage, recipients)
      let sender = stage.startSender()
      for (let turn = 0; turn < Math.ceil(kills / 2); turn++) {
        await untilAnyMoment(stage, sender)
        await broadcast.act('pause')
        if (turn % 2 === 0) {
          await sender.kill()
          sender = stage.startSender()
        }
        await sleep(between(0, 800))
        await broadcast.act('resume')
      }
      return finish(stage, broadcast)
    },
  },
  {
    name: 'aborted in the middle, with a kill in the same moment',
    async run(stage, { recipients }) {
      const broadcast = await begin(stage, recipients)
      const sender = stage.startSender()
      await untilBusy(stage, sender)
      await Promise.all([broadcast.act('abort'), sender.kill()])
      stage.startSender()
      const isClosed = () =>
        stage.query(`select 1 from broadcasts where status = 'aborted' and finished_at is not null and recipients = $1`, [recipients])
      await until('the aborted broadcast to be closed', async () => (await isClosed()).length > 0, { withinMs: 60_000, everyMs: 200 })
      return close(stage, broadcast)
    },
  },
  {
    name: 'no room for the journal, then room again',
    async run(stage, { recipients }) {
      const broadcast = await begin(stage, recipients)
      const sender = stage.startSender()
      await untilBusy(stage, sender)
      limitFiles(sender, '0')
      const stoodStill = await standsStill(stage)
      const isAlive = sender.isRunning()
      limitFiles(sender, 'unlimited')
      const verdict = await finish(stage, broadcast)
      if (!stoodStill) verdict.problems.push('sending went on without a journal')
      if (!isAlive) verdict.problems.push('the sender died when its journal could not be written')
      return verdict
    },
  },
]

/** No file of that process may grow: what a full disk does to it, and can be undone. */
const limitFiles = ({ pid }: Sender, bytes: string): void => void execFileSync('prlimit', [`--pid=${pid}`, `--fsize=${bytes}:unlimited`])

async function standsStill(stage: Stage): Promise<boolean> {
  await sleep(1_000)
  const before = await stage.sink.count()
  await sleep(2_000)
  return (await stage.sink.count()) === before
}
