/** Milliseconds of processor time that this thread has had. Older Nodes know no such thing: there it is the clock's. */
export const threadMs: () => number =
  typeof process.threadCpuUsage === 'function'
    ? () => {
        const { user, system } = process.threadCpuUsage()
        return (user + system) / 1000
      }
    : () => performance.now()
