/** One AUTH of a client at the SMTP peer (RFC 4954): what it is asked for, and who it said it is. */
export interface AuthDialog {
  /** The next 334 after this line, or null when there is nothing left to ask. */
  next(line: string): string | null
  /** "user:password", with the token in place of the password for OAuth. */
  login: string
}

const decode = (line: string) => Buffer.from(line, 'base64').toString('utf8')

/** The mechanism that the line names; anything unknown is taken for PLAIN. */
export function startAuth(line: string): AuthDialog {
  const [, mechanism = 'PLAIN'] = line.toUpperCase().split(' ')
  if (mechanism === 'LOGIN') return loginDialog()
  if (mechanism === 'OAUTHBEARER') return firstAnswer((text) => [/^n,a=(.*?),/.exec(text)?.[1], /auth=Bearer (.*?)\x01/.exec(text)?.[1]])
  if (mechanism === 'XOAUTH2') return firstAnswer((text) => [/^user=(.*?)\x01/.exec(text)?.[1], /auth=Bearer (.*?)\x01/.exec(text)?.[1]])
  return firstAnswer((text) => text.split('\0').slice(1))
}

/** Everything is in one answer, which may stand beside the name of the mechanism. */
function firstAnswer(read: (text: string) => (string | undefined)[]): AuthDialog {
  const dialog: AuthDialog = {
    login: '',
    next(line) {
      const answer = line.startsWith('AUTH ') ? line.split(' ')[2] : line
      if (answer === undefined) return '334 '
      dialog.login = read(decode(answer)).join(':')
      return null
    },
  }
  return dialog
}

function loginDialog(): AuthDialog {
  const heard: string[] = []
  const dialog: AuthDialog = {
    login: '',
    next(line) {
      if (line.startsWith('AUTH ')) return '334 VXNlcm5hbWU6'
      heard.push(decode(line))
      dialog.login = heard.join(':')
      return heard.length === 1 ? '334 UGFzc3dvcmQ6' : null
    },
  }
  return dialog
}
