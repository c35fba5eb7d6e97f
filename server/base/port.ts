import { lookup } from 'node:dns/promises'
import { createServer } from 'node:net'

/** Why a port cannot be opened, as the system's code for it (`EADDRINUSE`); null when it can be had. */
export async function portProblem(host: string, port: number): Promise<string | null> {
  // `localhost` is two addresses on most machines, and both are wanted.
  const addresses = await lookup(host, { all: true }).catch(() => [{ address: host }])
  for (const { address } of addresses) {
    const problem = await tryToListen(address, port)
    // The system may name an address that this machine does not have, such as ::1 without IPv6; the other one will do.
    const isMissing = problem === 'EADDRNOTAVAIL' || problem === 'EAFNOSUPPORT'
    if (problem !== null && !(isMissing && addresses.length > 1)) return problem
  }
  return null
}

function tryToListen(address: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    probe.listen(port, address, () => probe.close(() => resolve(null)))
  })
}
