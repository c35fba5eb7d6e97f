import { port } from './socket-folder.ts'

/** For a small machine that does many short transactions. `fsync` and `synchronous_commit` stay on, as PostgreSQL has them. */
const defaults: Record<string, string> = {
  shared_buffers: '128MB',
  max_connections: '100',
  // `minimal` would spare a little WAL in bulk loads, but then no online base backup could be taken.
  wal_level: 'replica',
  // Fewer checkpoints mean fewer full-page images in the WAL; the price is some seconds of recovery after a crash.
  // (wal_compression stays off: this build has no lz4, and pglz costs more time than it saves.)
  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  random_page_cost: '1.1',
  // A plan made while a table was empty may read all of it for each row, and is kept until the table has been looked at: not for a whole minute.
  autovacuum_naptime: '10s',
  jit: 'off',
  // Under a container's limit for huge pages the server dies of SIGBUS at its first touch of them.
  huge_pages: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // Failed statements and their details hold addresses, which no log of ours may; the application logs its own errors.
  log_min_messages: 'warning',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
  cluster_name: 'posthaste',
  // A container's /dev/shm is 64 MB by default, which a few parallel queries fill. macOS is the reverse: its SysV limits are tiny.
  ...(process.platform === 'linux' ? { dynamic_shared_memory_type: 'sysv' } : {}),
}

/** The server's arguments. Ours about where it listens come last: they are not for `settings` to change. */
export function serverArguments(cluster: string, socketFolder: string, settings: Record<string, string>): string[] {
  const all = {
    ...defaults,
    ...settings,
    listen_addresses: '',
    // A list separated by commas, so that a path with a comma needs quotes.
    unix_socket_directories: `"${socketFolder.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    port: String(port),
  }
  return ['-D', cluster, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}

/** Nothing of our own environment: it has secrets, and PGDATA, PGOPTIONS or LD_LIBRARY_PATH would change what the server does. */
export const serverEnvironment = (): Record<string, string> => ({ PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' })
