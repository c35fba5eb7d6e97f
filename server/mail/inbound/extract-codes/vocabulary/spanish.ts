import { each, phrases, type Vocabulary } from './vocabulary.ts'

export const spanish: Vocabulary = {
  codes: phrases(`
    código temporal | clave temporal | clave dinámica | código único | contraseña de un solo uso | contraseña temporal | código otp
    clave otp | código de 6 dígitos | código de seis dígitos | código para iniciar sesión | código para entrar | código para acceder
    código de 4 dígitos | código de cuatro dígitos | código de 8 dígitos | código para restablecer | clave de un único uso
  `).concat(
    each(
      'código | clave | pin | token',
      'de',
      'verificación | confirmación | seguridad | acceso | inicio de sesión | activación | validación | recuperación | restablecimiento | autenticación | registro | un solo uso | uso único | identificación',
    ),
    each('número', 'de', 'verificación | seguridad'),
  ),
  maybeCodes: phrases(`código | clave | pin | código pin | dígitos`),
  commands: phrases(`
    introduce | introduzca | ingresa | ingrese | escribe | escriba | usa | use | utiliza | utilice | introducir | teclea
  `),
  otherNumbers: phrases(`
    código de la puerta | código del portal | clave de la puerta | código promocional | código de descuento | código descuento | código postal | código de barras | código qr | código de error
    código de reserva | código de seguimiento | código de recogida | código de regalo | código de referido | código de invitación
    código de producto | código de artículo | código de la reunión | código de entrega | código de cliente | código fuente
    código de país | código de retiro | código de localización | cupón | pedido | número de pedido | factura | número de factura
    referencia | ref | ticket | caso | número de caso | incidencia | reserva | número de reserva | localizador | vuelo | tren
    asiento | coche | habitación | envío | número de envío | seguimiento | número de seguimiento | guía | número de guía | paquete
    cliente | número de cliente | cuenta | número de cuenta | contrato | póliza | socio | tarjeta | terminada en | terminado en
    termina en | que termina en | acabada en | acaba en | últimos dígitos | últimos cuatro dígitos | teléfono | tel | móvil | llama al
    llámanos al | llámenos al | fax | cif | nif | rfc | iban | versión | año | número | nº | no | importe | total | saldo | cp
    apartado | solicitud | folio | matrícula | transacción | operación | recibo
  `),
  units: phrases(`
    segundo* | minuto* | hora* | día* | semana* | mes | meses | año* | euros | pesos | dólares | puntos | millas | lectores | miembros
    clientes | personas | usuarios | madrid | barcelona | valencia | sevilla | páginas | kwh
  `),
  expiry: phrases(`
    caduca | caducará | expira | expirará | vence | vencerá | válido | válida | validez | vigencia | una sola vez | un solo uso
    vigente
  `),
  caution: phrases(`
    no lo compartas | no compartas | no lo comparta | no comparta | nunca compartas | nunca comparta | no se lo digas | no solicitaste
    no has solicitado | no ha solicitado | no solicitó | no pediste | no has pedido | ignora este | ignore este | ignorar este
    ignóralo | no reveles | no facilites | nadie de | nunca te pedirá | nunca le pediremos | nunca te pediremos | no intentaste
    no has sido tú | no te has registrado | haz caso omiso | haga caso omiso | no reenvíes | con nadie
  `),
  wayOut: phrases(`
    no fuiste tú | no has sido tú | no fue usted | no ha sido usted | no eres tú | no reconoces | no reconoce | protege tu cuenta
    si no fuiste | si no has sido
  `),
  sign_in: phrases(`
    para entrar | para acceder a tu cuenta | entra en tu cuenta | entrar en tu cuenta | entra en mi | iniciar sesión | inicia sesión | inicie sesión | inicio de sesión | acceso a tu cuenta | acceso a su cuenta
    código de acceso | enlace de acceso | enlace mágico | ingresar a tu | nuevo dispositivo | dos pasos
    dos factores | clave de acceso | ingresar a su
  `).concat(
    each(
      'acceder | accede | acceda | acceso | entrar | entra | entre | ingresar | ingresa | ingrese | ingreso',
      'a | en',
      'tu | su | mi | la | el | nuestra',
      'cuenta | área | banca | perfil | espacio | app | portal',
    ),
  ),
  verification: phrases(`
    verificar | verifica | verifique | verificación | activación | código de confirmación | termina tu registro | finalizar tu registro
    completa tu registro | completar tu registro | completar el registro | confirmación de tu cuenta | confirmación de tu correo
  `).concat(
    each(
      'confirmar | confirma | confirme | activar | activa | active | validar | valida | valide',
      'tu | su | el | la | mi',
      'correo | cuenta | aplicación | app | dispositivo | perfil | dirección | suscripción | registro | identidad | email | e mail | inscripción',
    ),
  ),
  password_reset: phrases(`
    restablecer | restablece | restablezca | restablecimiento | recuperar tu contraseña | recuperar su contraseña
    recuperar contraseña | nueva contraseña | cambiar tu contraseña | cambiar la contraseña | olvidaste tu contraseña
    olvidado tu contraseña | recuperación | recuperar tu cuenta | recuperar su cuenta | cambio de contraseña | crear una contraseña
  `),
  buttons: phrases(`confirmar | continuar | sí | activar | empezar | acceder | aceptar | confirmo`),
  here: phrases(`aquí | haz clic aquí | haga clic aquí | pulsa aquí | este enlace | siguiente enlace | el enlace | pulsa`),
  otherLinks: phrases(`
    darse de baja | darme de baja | date de baja | cancelar suscripción | cancelar la suscripción | privacidad | términos
    condiciones | ayuda | contacto | preferencias | ver en el navegador | leer más | más información | aviso legal | seguir mi pedido
    cancelar | rechazar | ajustes | eliminar | reportar | contáctanos
  `),
  occasions: phrases(`
    tu pedido | su pedido | envío | entrega | paquete | descuento | cupón | oferta | reserva | vuelo | hotel | embarque | reunión
    cita | factura | localizador | recogida | noches | entradas | promoción
  `),
}
