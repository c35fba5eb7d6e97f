import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { InTouch } from './in-touch.ts'

const answer = async () => 'answered'
const away = async () => {
  throw new Error('away')
}
/** Asks so often that a machine which stands still in between changes nothing. */
async function askUntil(inTouch: InTouch, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    assert.equal(await inTouch.ask(answer), 'answered')
    await sleep(20)
  }
}

test('what the dead have left is taken over by who has asked for a while, and begins anew after each failure', async () => {
  const inTouch = new InTouch(300)
  assert.equal(inTouch.mayTakeOver, false)
  await inTouch.ask(answer)
  assert.equal(inTouch.mayTakeOver, false)
  await askUntil(inTouch, () => inTouch.mayTakeOver)
  await assert.rejects(inTouch.ask(away), /away/)
  assert.equal(inTouch.mayTakeOver, false)
  await inTouch.ask(answer)
  assert.equal(inTouch.mayTakeOver, false)
  await askUntil(inTouch, () => inTouch.mayTakeOver)
})
