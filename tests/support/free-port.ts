import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** A port that nothing listens on now, for those who need several servers on the same one. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '0.0.0.0')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}
