import { each, phrases, type Vocabulary } from './vocabulary.ts'

/** Fewer words than the six languages that are measured. */
export const portuguese: Vocabulary = {
  codes: phrases(`
    código temporário | senha temporária | código de 6 dígitos | código de seis dígitos
  `).concat(
    each(
      'código | senha | pin | chave',
      'de',
      'verificação | confirmação | segurança | acesso | ativação | validação | recuperação | redefinição | autenticação | login | uso único',
    ),
    each('número', 'de verificação | de segurança'),
  ),
  maybeCodes: phrases(`código | dígitos`),
  commands: phrases(`digite | insira | introduza | utilize | informe`),
  otherNumbers: phrases(`
    código promocional | código de desconto | código postal | código de barras | código de rastreio | código de rastreamento
    código de reserva | cupom | pedido | número do pedido | fatura | nota fiscal | protocolo | reserva | voo | encomenda | rastreio
    conta | cartão | final | terminado em | terminada em | telefone | ligue | cep | cnpj | cpf | versão | ano | total | valor
  `),
  units: phrases(`segundos | minutos | horas | dias | reais | pontos | pessoas | anos`),
  expiry: phrases(`expira | expirará | válido | válida | validade | uma única vez`),
  caution: phrases(`
    não compartilhe | não partilhe | não solicitou | não pediu | ignore este | com ninguém | não reconhece | nunca pediremos
  `),
  wayOut: phrases(`não foi você | não foste tu | proteja sua conta`),
  sign_in: phrases(`entrar | iniciar sessão | fazer login | login | acessar sua conta | aceder à sua conta | código de acesso`),
  verification: phrases(`
    verificar | verifique | verificação | confirmar seu | confirme seu | confirme o seu | confirmar o seu | ativar sua | ative sua
    ativar a sua
  `).concat(
    each(
      'confirmar | confirme | ativar | ative | validar | valide',
      'seu | sua | o seu | a sua | o teu | a tua',
      'conta | email | e mail | endereço | registro | registo | inscrição | cadastro',
    ),
  ),
  password_reset: phrases(`
    redefinir | redefinição | nova senha | recuperar sua senha | repor a palavra passe | nova palavra passe | esqueceu a senha
    recuperação
  `),
  buttons: phrases(`confirmar | continuar | ativar`),
  here: phrases(`clique aqui | aqui | neste link | o link`),
  otherLinks: phrases(`
    cancelar inscrição | cancelar subscrição | descadastrar | privacidade | termos | ajuda | preferências | saiba mais | cancelar
  `),
  occasions: phrases(`seu pedido | entrega | desconto | cupom | reserva | voo | hotel | reunião | oferta`),
}
