import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { reasonOf } from '../base/errors.ts'
import { createServedCertificates, createSubdomainCertificates, type ServedCertificates } from '../features/certificates/index.ts'
import type { Services } from '../operations/context.ts'

/**
 * The same program over TLS, for hosts whose certificates are ours. HTTP/1.1 and no HTTP/2: a page here is one document with its styles inside,
 * which a second stream would not bring sooner, and everything that bounds slow clients is made for the one protocol.
 */
export interface HttpsRole {
  listen(): Promise<void>
}

const handshakeMs = 10_000
const drainMs = 10_000
const lookForIdleMs = 50
/** RFC 6797. A year, for this host alone: what is below it may be somebody else's. */
const strictTransport = 'max-age=31536000'

/** Before `app` listens: it gets the redirect from plain HTTP, and ends with it. */
export function addHttps(app: FastifyInstance, services: Services): HttpsRole {
  const { config } = services
  const certificates = createServedCertificates(services)
  const server = createSecureServer(app, certificates, services)
  addRedirect(app, certificates, publicPort(config.PUBLIC_URL))
  const silent = followSilent(server)
  let closing: Promise<void> | null = null
  app.addHook('preClose', async () => {
    closing = close(server)
    for (const socket of silent.values()) socket.destroy()
  })
  app.addHook('onClose', async () => {
    await closing
    certificates.stop()
  })
  return {
    listen: () =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(config.HTTPS_PORT ?? 0, config.HOST, () => {
          server.off('error', reject)
          resolve()
        })
      }),
  }
}

function createSecureServer(app: FastifyInstance, certificates: ServedCertificates, services: Services): Server {
  const subdomains = createSubdomainCertificates(services, certificates)
  const contextOf = async (name: string) => (await certificates.contextOf(name)) ?? subdomains.contextOf(name)
  const server = createServer(
    {
      minVersion: 'TLSv1.2',
      ALPNProtocols: ['http/1.1'],
      handshakeTimeout: handshakeMs,
      // Without a certificate for the name the handshake fails with an alert: one for another name would only teach people to click it away.
      SNICallback: (name, done) => {
        contextOf(name).then(
          (context) => done(null, context ?? undefined),
          (error: unknown) => {
            services.log.warn({ host: name.slice(0, 253), reason: reasonOf(error) }, 'a handshake failed')
            done(error as Error)
          },
        )
      },
    },
    (request: IncomingMessage, response: ServerResponse) => app.routing(request, response),
  )
  const { keepAliveTimeout, headersTimeout, requestTimeout, timeout } = app.server
  Object.assign(server, { keepAliveTimeout, headersTimeout, requestTimeout, timeout })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    // What is no TLS, or was refused in the handshake, gets no answer in HTTP.
    if (error.code?.startsWith('HPE_') || error.code === 'ERR_HTTP_REQUEST_TIMEOUT') app.server.emit('clientError', error, socket)
    else socket.destroy()
  })
  return server
}

/** What is open over plain HTTP on purpose: the authority's look at a challenge, and those who ask whether we live. */
const isPlain = (path: string): boolean => path.startsWith('/.well-known/acme-challenge/') || path === '/healthz' || path === '/readyz'

function addRedirect(app: FastifyInstance, certificates: ServedCertificates, port: string): void {
  app.addHook('onRequest', async (request, reply) => {
    if (isEncrypted(request)) reply.header('strict-transport-security', strictTransport)
    if (request.protocol === 'https') return
    const { method, originalUrl, hostname } = request
    // Whoever posts has already sent it in the open; sending it twice makes nothing better.
    if (!['GET', 'HEAD'].includes(method) || !originalUrl.startsWith('/') || isPlain(originalUrl.split('?')[0] ?? '')) return
    if ((await certificates.contextOf(hostname)) === null) return
    return reply.code(308).header('location', `https://${hostname}${port}${originalUrl}`).send()
  })
}

const isEncrypted = ({ raw }: FastifyRequest): boolean => (raw.socket as Partial<TLSSocket>).encrypted === true

/** `:8443` where the world comes by another port than TLS's own. */
function publicPort(publicUrl: string): string {
  const { protocol, port } = new URL(publicUrl)
  return protocol === 'https:' && port !== '' ? `:${port}` : ''
}

/** Connections over which nothing was asked yet: they may still be at the handshake, and would hold up the end for as long as they like. */
function followSilent(server: Server): Map<string, Socket> {
  const silent = new Map<string, Socket>()
  const peerOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`
  server.on('connection', (socket: Socket) => {
    const peer = peerOf(socket)
    silent.set(peer, socket)
    socket.once('close', () => silent.delete(peer))
  })
  server.on('request', ({ socket }) => silent.delete(peerOf(socket)))
  return silent
}

/** Takes no more connections; those that are in use end with their answer, or after ten seconds. */
function close(server: Server): Promise<void> {
  if (!server.listening) return Promise.resolve()
  return new Promise((resolve) => {
    const began = performance.now()
    const look = setInterval(() => {
      if (performance.now() - began > drainMs) server.closeAllConnections()
      else server.closeIdleConnections()
    }, lookForIdleMs)
    server.close(() => {
      clearInterval(look)
      resolve()
    })
  })
}
