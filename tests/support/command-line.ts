import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('../../bin/posthaste.js', import.meta.url))

export interface Outcome {
  code: number | null
  stdout: string
  stderr: string
}

type Env = Record<string, string>

/** Nothing of the tests' own environment but what a program needs to run at all. */
const environment = (env: Env): Env => ({ PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '/', ...env })

/** `posthaste …` as a person runs it: the real program, with these settings and no others. */
export async function posthaste(args: string[], env: Env, input: string | Buffer = ''): Promise<Outcome> {
  return outcomeOf(spawn(process.execPath, [program, ...args], { env: environment(env), stdio: 'pipe' }), input)
}

/** The same in another folder. */
export async function posthasteIn(cwd: string, args: string[], env: Env): Promise<Outcome> {
  return outcomeOf(spawn(process.execPath, [program, ...args], { cwd, env: environment(env), stdio: 'pipe' }), '')
}

async function outcomeOf(child: ChildProcessWithoutNullStreams, input: string | Buffer): Promise<Outcome> {
  child.stdin.on('error', () => {}) // it may not want to hear the rest
  child.stdin.end(input)
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code, stdout, stderr }
}

/** The program itself, until the test stops it; `said` is how it welcomes. */
export async function startProgram(env: Env): Promise<{ child: ChildProcess; said: string; stop(): Promise<void> }> {
  const child = spawn(process.execPath, [program, 'start'], { env: environment(env), stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
  }
  after(stop)
  const began = new Promise<string>((resolve) => child.stdout.once('data', (welcome) => resolve(String(welcome))))
  const said = await Promise.race([began, ended])
  if (said === undefined || child.exitCode !== null) throw new Error(`posthaste start ended with ${child.exitCode}`)
  child.stdout.resume()
  return { child, said, stop }
}

/** Gone with the tests of the file. As root the embedded server runs as another user, who must be able to pass. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-cli-'))
  chmodSync(folder, 0o711)
  after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
