import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

/** What inbound mail is held against: smtp-server as it comes, which reads every message and keeps none. Tells its port. */
const server = new SMTPServer({
  authOptional: true,
  disableReverseLookup: true,
  hideSTARTTLS: true,
  disabledCommands: ['AUTH', 'STARTTLS'],
  onData(stream, _session, done) {
    stream.on('end', done)
    stream.resume()
  },
})
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.server.address() as AddressInfo).port }))
