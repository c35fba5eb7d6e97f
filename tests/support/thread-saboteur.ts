import { existsSync, readFileSync, rmSync } from 'node:fs'
import { workerData } from 'node:worker_threads'

/**
 * Loaded into a program under test with NODE_OPTIONS=--import=…: the thread that sends mail dies of an error, as by a mistake of ours, each
 * time the file that SABOTAGE names is made; with `hang` in it, it goes round and round instead.
 */
const file = process.env.SABOTAGE as string
const look = () => {
  if (!existsSync(file)) return
  const isToHang = readFileSync(file, 'utf8') === 'hang'
  rmSync(file)
  if (!isToHang) throw new Error('sabotaged')
  for (;;) performance.now()
}
if ((workerData as { connection?: object } | null)?.connection) setInterval(look, 10).unref()
