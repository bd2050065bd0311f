//! The words around codes, by language.
//!
//! Phrases are in lower case and separated by commas; a space in one also stands for a hyphen or a line break.

/// The words of one language.
pub(super) struct Language {
    /// What a code is called.
    pub(super) labels: &'static str,
    /// Phrases with such a word in them that mean something else.
    pub(super) not_labels: &'static str,
    /// Whose number it is, if it is no code.
    pub(super) owners: &'static str,
    /// What may stand between a label, or an owner, and its number.
    pub(super) between: &'static str,
    /// What follows a number that is named afterwards.
    pub(super) after: &'static str,
    /// What a number counts.
    pub(super) units: &'static str,
}

/// What a code is for, where it is named instead of the code: "use 123456 to sign in".
pub(super) const PURPOSES: &str = "to verify, to sign in, to sign into, to log in, to log into, to login, to confirm, to authenticate, to \
     authorize, to approve, to activate, to complete your, to finish, to reset your, to unlock, to continue, to access \
     your, to validate, to register";

/// Each language's words.
pub(super) const LANGUAGES: &[Language] = &[
    // English
    Language {
        labels: "code, codes, passcode, passcodes, pass code, password, passkey, otp, otp code, totp, pin, pin \
         code, one time password, one time passcode, one time code, one time pin, one time security code, verification \
         code, verification pin, verification number, verification, confirmation code, confirmation pin, security code, \
         security pin, access code, access pin, authentication code, authorization code, auth code, authenticator code, \
         login code, log in code, sign in code, signin code, sign up code, activation code, reset code, recovery code, \
         backup code, 2fa code, 2fa, mfa code, two factor code, two step code, validation code, identification code, \
         device code, temporary code, temporary password, magic code, unlock code, email code, pairing code, \
         registration code, tan, transaction code, payment code, approval code, short code is, secret code, numeric \
         code, digit code",
        not_labels: "zip code, zip codes, postal code, post code, postcode, zip/postal code, promo code, promotion \
         code, promotional code, promo codes, discount code, discount codes, coupon code, coupon codes, gift code, gift \
         card code, gift card pin, voucher code, invite code, invitation code, referral code, country code, area code, \
         dialing code, dial code, error code, error codes, exit code, status code, response code, reason code, tracking \
         code, order code, booking code, reservation code, bar code, barcode, qr code, qr codes, source code, code of \
         conduct, code review, code reviews, code coverage, dress code, product code, item code, sort code, swift code, \
         bic code, ifsc code, branch code, tax code, vat code, building code, offer code, savings code, reference code, \
         customer code, client code, color code, colour code, sku code, hs code, icd code, no code, low code, morse \
         code, vs code, claude code, campaign code, model code, forgot your password, forgot password, change your \
         password, changed your password, change password, password reset request, pin it, lines of code, your password \
         was, your password has, your password expires, short code",
        owners: "order, orders, invoice, invoices, ref, reference, account, ticket, tracking, phone, telephone, \
         mobile, cell, fax, tel, call, call us, text, sms, whatsapp, ending in, ending with, ends in, ends with, \
         ending, card, case, receipt, transaction, booking, reservation, customer, client, member, membership, policy, \
         contract, shipment, parcel, package, po, purchase order, quote, bill, statement, employee, student, serial, \
         sku, item, product, part, model, flight, room, gate, suite, apt, unit, po box, p.o. box, box, building, \
         street, error, build, version, release, issue, pull request, pr, commit, job, run, request, incident, user id, \
         patent, license, licence, registration, company, vat, tax, ein, duns, zip, isbn, port, zip code, postal code, \
         tracking code, order code, booking code, reference code, customer code, promo code, discount code, coupon \
         code, voucher code, gift code, gift card code, referral code, error code, area code, status code, product \
         code, item code, sort code, invite code, invitation code, country code, barcode, bar code, top, over, more \
         than, less than, up to, almost, about, approximately, copyright, since, established, founded in, page, \
         section, article, form, highway, route, channel, lot, batch",
        between: "is, are, was, be, will, now, below, here, here is, as, follows, follow, following, the, this, this \
         is, your, use, enter, with, number, numbers, no, nr, num, id, us, at, on, to, me, of, in, equals, it, it's, \
         for you, today, below:, s, please, and, type, copy",
        after: "is, are, as, will, —, was, your",
        units: "minutes, minute, mins, min, seconds, second, secs, sec, hours, hour, hrs, days, day, weeks, \
         months, years, times, km, miles, kg, mb, gb, kb, tb, px, kwh, mah, points, pts, people, users, customers, \
         items, members, followers, subscribers, characters, digits, words, credits, coins, steps, views, visitors, \
         employees, companies, countries, developers, teams, usd, eur, gbp, dollars, euros, pounds, cents, percent, am, \
         pm, utc, gmt, more, others, sq, ft, st, ave, avenue, street, road, rd, blvd, drive, lane",
    },
    // German
    Language {
        labels: "codes, bestätigungscode, bestaetigungscode, sicherheitscode, verifizierungscode, \
         verifikationscode, prüfcode, anmeldecode, login code, logincode, einmalcode, einmal code, einmalpasswort, \
         einmal passwort, einmalkennwort, zugangscode, aktivierungscode, freischaltcode, authentifizierungscode, \
         passwort, kennwort, passcode, pincode, pin code, smstan, mtan, registrierungscode, wiederherstellungscode, \
         zahlencode, code lautet, zugriffscode, entsperrcode, geheimzahl, identifizierungscode, abholcode",
        not_labels: "gutscheincode, rabattcode, aktionscode, postleitzahl, quellcode, strichcode, fehlercode, \
         ländercode, statuscode, qr-code, einladungscode, empfehlungscode, buchungscode, gutschein code, rabatt code, \
         passwort vergessen, passwort ändern, ihr passwort wurde, dein passwort wurde",
        owners: "bestellung, bestellnummer, bestell nr, bestell-nr, auftrag, auftragsnummer, rechnung, \
         rechnungsnummer, kundennummer, kunden nr, vorgang, vorgangsnummer, sendung, sendungsnummer, tracking, telefon, \
         tel, fon, handy, mobil, fax, konto, kontonummer, vertrag, vertragsnummer, ticket, ticketnummer, referenz, \
         referenznummer, endet auf, endend auf, endziffern, mit der endung, artikel, artikelnummer, plz, postleitzahl, \
         gutscheincode, rabattcode, buchungsnummer, buchungscode, hotline, anruf unter, hrb, hra, steuernummer, \
         lieferung, über, seit, mitgliedsnummer, fall, fallnummer, fehlercode",
        between: "ist, lautet, sind, der, die, das, dein, ihr, hier, ein, unter, nummer, nr, folgender, folgt, von, \
         vom, bitte, wie",
        after: "ist, lautet, als, ihr, dein, sind",
        units: "minuten, minute, sekunden, stunden, tage, tagen, wochen, jahre, uhr, punkte, kunden, nutzer, euro, \
         zeichen, ziffern, mal, prozent, artikel",
    },
    // French
    Language {
        labels: "code de vérification, code de verification, code de confirmation, code de sécurité, code de \
         securite, code d'accès, code d’accès, code d'authentification, code d’authentification, code d'activation, \
         code d’activation, code de connexion, code à usage unique, code de validation, code unique, code confidentiel, \
         code temporaire, code secret, mot de passe, mot de passe à usage unique, mot de passe temporaire, code \
         d'identification, code de réinitialisation, code pin, code otp",
        not_labels: "code postal, code promo, code promotionnel, code de réduction, code réduction, code cadeau, code \
         parrainage, code de parrainage, code barre, code barres, code à barres, code qr, code pays, code d'erreur, \
         code erreur, code source, code avantage, code de suivi, code article, code client, mot de passe oublié",
        owners: "commande, facture, référence, réf, numéro de commande, numéro de facture, numéro de client, numéro \
         client, numéro de dossier, dossier, compte, billet, suivi, colis, téléphone, tél, portable, mobile, fax, se \
         terminant par, finissant par, terminant par, réservation, contrat, code postal, code promo, code de réduction, \
         siret, siren, appelez le, au, depuis",
        between: "est, sont, voici, votre, ton, le, la, de, du, n°, n, numéro, num, suivant, ci dessous, sera, \
         c'est, saisissez",
        after: "est, comme, sont, voici",
        units: "minutes, secondes, heures, jours, euros, points, clients, ans, fois, caractères, chiffres",
    },
    // Spanish
    Language {
        labels: "código, codigo, códigos, código de verificación, codigo de verificacion, código de confirmación, \
         código de seguridad, código de acceso, código de autenticación, código de activación, código de inicio de \
         sesión, código de un solo uso, código único, código temporal, código pin, contraseña, contraseña de un solo \
         uso, contraseña temporal, clave, clave de acceso, clave dinámica, clave temporal, clave de seguridad, código \
         de validación, código otp, código de autorización, código de recuperación",
        not_labels: "código postal, codigo postal, código promocional, código de descuento, código descuento, código de \
         regalo, código de invitación, código de país, código de área, código de error, código de barras, código qr, \
         código de seguimiento, código de reserva, código de cliente, código de producto, código fuente, código de \
         pedido, olvidaste tu contraseña, palabra clave, cambiar tu contraseña",
        owners: "pedido, número de pedido, orden, factura, número de factura, referencia, cuenta, número de cuenta, \
         ticket, seguimiento, envío, teléfono, tel, móvil, celular, fax, terminada en, terminado en, termina en, \
         reserva, contrato, cliente, código postal, código promocional, código de descuento, código de reserva, código \
         de seguimiento, llame al, llámanos al, desde, más de, expediente, cupón",
        between: "es, son, el, la, tu, su, de, del, número, núm, n.º, nº, no, siguiente, aquí, este, será, introduce",
        after: "es, como, son, será",
        units: "minutos, segundos, horas, días, euros, puntos, clientes, años, veces, pesos, caracteres, dígitos",
    },
    // Portuguese
    Language {
        labels: "código, código de verificação, codigo de verificacao, código de confirmação, código de segurança, \
         código de acesso, código de autenticação, código de ativação, código de login, código de uso único, código \
         único, código temporário, código de validação, senha, senha temporária, senha de uso único, palavra passe, \
         token, token de acesso, chave de acesso, código de início de sessão, código pin",
        not_labels: "código promocional, código de desconto, código de barras, código de rastreio, código de \
         rastreamento, código de erro, código do país, código do produto, código do pedido, código de convite, código \
         da reserva, esqueceu sua senha, esqueceu a senha, código do cliente, cep",
        owners: "pedido, número do pedido, encomenda, fatura, nota fiscal, referência, conta, rastreio, \
         rastreamento, telefone, tel, telemóvel, celular, terminado em, terminada em, final, reserva, contrato, \
         cliente, cep, cnpj, cpf, código postal, código promocional, código de desconto, código de rastreio, cupom, \
         ligue para, protocolo, desde, mais de",
        between: "é, são, o, a, seu, sua, de, do, da, número, nº, seguinte, abaixo, será, use, digite",
        after: "é, como, são, será",
        units: "minutos, segundos, horas, dias, reais, euros, pontos, clientes, anos, vezes, caracteres, dígitos",
    },
    // Italian
    Language {
        labels: "codice, codice di verifica, codice di conferma, codice di sicurezza, codice di accesso, codice \
         d'accesso, codice di autenticazione, codice di attivazione, codice monouso, codice temporaneo, codice otp, \
         codice pin, codice usa e getta, codice di login, password monouso, password temporanea, codice di convalida, \
         parola d'ordine",
        not_labels: "codice postale, codice di avviamento postale, codice promozionale, codice promo, codice sconto, \
         codice regalo, codice invito, codice a barre, codice qr, codice fiscale, codice cliente, codice prodotto, \
         codice articolo, codice errore, codice di tracciamento, codice sorgente, codice prenotazione, codice ordine",
        owners: "ordine, numero ordine, numero d'ordine, fattura, riferimento, rif, conto, biglietto, spedizione, \
         telefono, tel, cellulare, fax, che termina con, che terminano con, termina con, prenotazione, contratto, \
         cliente, cap, codice sconto, codice promo, codice cliente, codice prenotazione, partita iva, p.iva, chiama il, \
         dal, oltre, pratica",
        between: "è, e', sono, il, la, tuo, suo, di, numero, n., n°, seguente, ecco, sarà, inserisci",
        after: "è, e', come, sono",
        units: "minuti, secondi, ore, giorni, euro, punti, clienti, anni, volte, caratteri, cifre",
    },
    // Dutch
    Language {
        labels: "verificatiecode, bevestigingscode, beveiligingscode, toegangscode, inlogcode, eenmalige code, \
         eenmalig wachtwoord, activatiecode, activeringscode, authenticatiecode, controlecode, wachtwoord, pincode, \
         herstelcode, aanmeldcode, registratiecode, tijdelijke code, code is",
        not_labels: "kortingscode, actiecode, cadeaucode, streepjescode, landcode, foutcode, broncode, \
         uitnodigingscode, waardeboncode, couponcode, wachtwoord vergeten, boekingscode",
        owners: "bestelling, bestelnummer, factuur, factuurnummer, klantnummer, ordernummer, referentie, kenmerk, \
         rekening, zending, telefoon, tel, mobiel, eindigend op, eindigt op, reservering, boeking, dossier, kvk, btw, \
         postcode, kortingscode, bel, sinds, pakket",
        between: "is, zijn, de, het, je, jouw, uw, nummer, nr, luidt, volgende, hieronder",
        after: "is, als, zijn",
        units: "minuten, seconden, uur, dagen, euro, punten, klanten, jaar, keer, tekens, cijfers",
    },
    // Swedish
    Language {
        labels: "kod, koden, verifieringskod, verifieringskoden, bekräftelsekod, säkerhetskod, engångskod, \
         engångskoden, engångslösenord, inloggningskod, aktiveringskod, lösenord, pinkod, pin kod, autentiseringskod, \
         åtkomstkod",
        not_labels: "rabattkod, kampanjkod, presentkortskod, streckkod, landskod, felkod, källkod, inbjudningskod, \
         glömt lösenord, qr kod, postnummer",
        owners: "order, ordernummer, beställning, faktura, fakturanummer, kundnummer, referens, konto, kontonummer, \
         ärende, ärendenummer, spårning, telefon, tfn, mobil, slutar på, som slutar på, bokning, bokningsnummer, \
         postnummer, rabattkod, ring, sedan, org.nr, paket",
        between: "är, din, ditt, den, nummer, nr, följande, lyder, här",
        after: "är, som",
        units: "minuter, sekunder, timmar, dagar, kronor, kr, poäng, kunder, år, tecken, siffror",
    },
    // Danish
    Language {
        labels: "kode, koden, bekræftelseskode, verifikationskode, verificeringskode, sikkerhedskode, engangskode, \
         engangskoden, engangsadgangskode, adgangskode, login kode, loginkode, aktiveringskode, godkendelseskode, \
         pinkode, pin kode",
        not_labels: "rabatkode, kampagnekode, gavekode, stregkode, landekode, fejlkode, kildekode, invitationskode, \
         glemt adgangskode, qr kode, postnummer, gavekortkode",
        owners: "ordre, ordrenummer, faktura, fakturanummer, kundenummer, reference, konto, kontonummer, sag, \
         sagsnummer, forsendelse, telefon, tlf, mobil, ender på, som ender på, der ender på, booking, postnummer, \
         rabatkode, ring, siden, cvr, pakke",
        between: "er, din, dit, den, nummer, nr, følgende, her",
        after: "er, som",
        units: "minutter, sekunder, timer, dage, kroner, kr, point, kunder, år, tegn, cifre",
    },
    // Norwegian
    Language {
        labels: "kode, koden, bekreftelseskode, verifiseringskode, sikkerhetskode, engangskode, engangskoden, \
         engangspassord, innloggingskode, påloggingskode, aktiveringskode, passord, pinkode, tilgangskode",
        not_labels: "rabattkode, kampanjekode, gavekode, strekkode, landkode, feilkode, kildekode, glemt passord, \
         invitasjonskode",
        owners: "ordre, ordrenummer, bestilling, bestillingsnummer, faktura, kundenummer, referanse, konto, \
         kontonummer, sak, saksnummer, sending, telefon, tlf, mobil, slutter på, som slutter på, postnummer, \
         rabattkode, ring, siden, pakke",
        between: "er, din, ditt, den, nummer, nr, følgende, her",
        after: "er, som",
        units: "minutter, sekunder, timer, dager, kroner, kr, poeng, kunder, år, tegn, siffer",
    },
    // Finnish
    Language {
        labels: "koodi, koodisi, koodin, koodilla, koodia, vahvistuskoodi, vahvistuskoodisi, vahvistuskoodin, \
         turvakoodi, turvakoodisi, kertakäyttökoodi, kertakäyttöinen koodi, kertakäyttösalasana, kirjautumiskoodi, \
         kirjautumiskoodisi, aktivointikoodi, salasana, salasanasi, tunnusluku, tunnuslukusi, pin koodi, pin koodisi, \
         todennuskoodi",
        not_labels: "alennuskoodi, alennuskoodin, kampanjakoodi, lahjakoodi, viivakoodi, maakoodi, virhekoodi, \
         lähdekoodi, qr koodi, kutsukoodi, unohditko salasanasi",
        owners: "tilaus, tilausnumero, tilauksen, tilauksesi, lasku, laskunumero, laskun, asiakasnumero, viite, \
         viitenumero, tili, tilinumero, lähetys, seurantatunnus, puhelin, puh, päättyy, päättyvä, varaus, varausnumero, \
         postinumero, alennuskoodi, soita, y tunnus",
        between: "on, ovat, numero, nro, seuraava, tässä, sinun, syötä",
        after: "on, ovat",
        units: "minuuttia, minuutin, sekuntia, sekunnin, tuntia, tunnin, päivää, euroa, pistettä, asiakasta, \
         vuotta, merkkiä, numeroa",
    },
    // Polish
    Language {
        labels: "kod, kodu, kodem, kody, kod weryfikacyjny, kod potwierdzający, kod bezpieczeństwa, kod dostępu, \
         kod jednorazowy, kod aktywacyjny, kod autoryzacyjny, kod logowania, kod uwierzytelniający, hasło, hasło \
         jednorazowe, hasło tymczasowe, kod pin, kod sms",
        not_labels: "kod pocztowy, kod rabatowy, kod promocyjny, kod kreskowy, kod qr, kod błędu, kod kraju, kod \
         źródłowy, kod zaproszenia, kod produktu, kod podarunkowy, kod kuponu, nie pamiętasz hasła",
        owners: "zamówienie, zamówienia, nr zamówienia, numer zamówienia, faktura, faktury, nr faktury, numer \
         klienta, nr ref, referencyjny, konto, konta, numer konta, przesyłka, przesyłki, telefon, tel, kom, faks, \
         kończącej się na, kończący się na, rezerwacja, rezerwacji, umowa, umowy, zgłoszenie, zgłoszenia, nip, regon, \
         krs, kod pocztowy, kod rabatowy, zadzwoń, od, ponad, paczka",
        between: "to, jest, twój, twoj, numer, nr, oto, następujący, brzmi, wynosi, wpisz",
        after: "to, jest, jako",
        units: "minut, minuty, sekund, godzin, godziny, dni, zł, złotych, punktów, klientów, lat, razy, znaków, \
         cyfr",
    },
    // Czech
    Language {
        labels: "kód, kod, kódu, kódem, ověřovací kód, potvrzovací kód, bezpečnostní kód, přístupový kód, \
         jednorázový kód, jednorázové heslo, aktivační kód, přihlašovací kód, autorizační kód, heslo, dočasné heslo, \
         sms kód, pin kód",
        not_labels: "slevový kód, promo kód, čárový kód, qr kód, kód země, chybový kód, zdrojový kód, dárkový kód, kód \
         produktu, kód zboží, psč, zapomenuté heslo, kód kupónu",
        owners: "objednávka, objednávky, objednávku, číslo objednávky, faktura, faktury, číslo faktury, zákaznické \
         číslo, variabilní symbol, reference, účet, účtu, zásilka, zásilky, telefon, tel, mobil, končící na, končí na, \
         rezervace, rezervaci, smlouva, smlouvy, ičo, dič, psč, slevový kód, volejte, od, přes, požadavek",
        between: "je, jsou, váš, tvůj, vas, číslo, č, následující, zní, zde, zadejte",
        after: "je, jako, jsou",
        units: "minut, minuty, sekund, hodin, hodiny, dní, dnů, kč, korun, bodů, zákazníků, let, krát, znaků, \
         číslic",
    },
    // Turkish
    Language {
        labels: "kod, kodu, kodunuz, kodun, kodunu, kodunuzu, kodları, doğrulama kodu, doğrulama kodunuz, doğrulama \
         kodun, onay kodu, onay kodunuz, güvenlik kodu, güvenlik kodunuz, giriş kodu, giriş kodunuz, erişim kodu, \
         aktivasyon kodu, aktivasyon kodunuz, tek kullanımlık kod, tek kullanımlık şifre, tek kullanımlık şifreniz, tek \
         kullanımlık parola, şifre, şifreniz, şifresi, parola, parolanız, pin kodu, pin kodunuz, sms kodu, kimlik \
         doğrulama kodu",
        not_labels: "posta kodu, indirim kodu, promosyon kodu, kampanya kodu, hediye kodu, barkod, karekod, ülke kodu, \
         alan kodu, hata kodu, kaynak kodu, davet kodu, kupon kodu, ürün kodu, referans kodu, şifremi unuttum, qr kodu, \
         takip kodu",
        owners: "sipariş, siparişiniz, sipariş no, sipariş numarası, fatura, fatura no, fatura numarası, müşteri \
         no, müşteri numarası, referans, hesap, hesap numarası, kargo, kargo takip no, takip no, takip numarası, \
         telefon, tel, cep, faks, ile biten, rezervasyon, bilet, talep, talep no, posta kodu, indirim kodu, mersis no, \
         bizi arayın, vergi no",
        between: "bu, no, numarası, numaranız, aşağıdaki, için, şudur, şu, olarak, sizin",
        after: "dir, dır, olarak, doğrulama",
        units: "dakika, dakikadır, saniye, saat, gün, tl, lira, puan, müşteri, yıl, kez, karakter, haneli, rakam",
    },
    // Russian
    Language {
        labels: "код, кода, кодом, коды, код подтверждения, проверочный код, код безопасности, код доступа, код \
         авторизации, код активации, код верификации, код для входа, код входа, одноразовый код, одноразовый пароль, \
         пароль, временный пароль, пин код, пин, пинкод, смс код, секретный код, кодовое слово",
        not_labels: "почтовый индекс, индекс, промокод, промо код, код купона, штрих код, штрихкод, qr код, код страны, \
         код города, код ошибки, исходный код, код товара, код приглашения, код скидки, подарочный код, код \
         отслеживания, забыли пароль, код бронирования",
        owners: "заказ, заказа, заказу, заказ №, номер заказа, счет, счёт, счета, номер счета, номер счёта, \
         договор, договора, квитанция, референс, билет, билета, обращение, обращения, заявка, заявки, посылка, посылки, \
         трек номер, отправление, телефон, тел, моб, факс, заканчивающейся на, оканчивающейся на, оканчивается на, \
         карта, карты, бронь, бронирование, бронирования, клиент, лицевой счет, индекс, промокод, инн, огрн, звоните, \
         с, более, около, артикул, код бронирования",
        between: "это, ваш, твой, номер, №, следующий, вот, равен, введите, для входа",
        after: "это, ваш, как",
        units: "минут, минуты, минута, секунд, часов, часа, дней, дня, рублей, руб, баллов, клиентов, лет, года, \
         год, раз, символов, цифр",
    },
    // Ukrainian
    Language {
        labels: "код, коду, кодом, код підтвердження, перевірочний код, код безпеки, код доступу, код авторизації, \
         код активації, код верифікації, код для входу, код входу, одноразовий код, одноразовий пароль, пароль, \
         тимчасовий пароль, пін код, пінкод, смс код",
        not_labels: "поштовий індекс, індекс, промокод, промо код, штрих код, штрихкод, qr код, код країни, код міста, \
         код помилки, вихідний код, код товару, код запрошення, код знижки, забули пароль",
        owners: "замовлення, номер замовлення, рахунок, рахунку, номер рахунку, договір, договору, квитанція, \
         квиток, звернення, заявка, посилка, посилки, відправлення, ттн, телефон, тел, моб, факс, закінчується на, що \
         закінчується на, картка, картки, бронювання, клієнт, індекс, промокод, єдрпоу, телефонуйте, понад",
        between: "це, ваш, твій, номер, №, наступний, ось, такий, введіть",
        after: "це, ваш, як",
        units: "хвилин, хвилини, секунд, годин, години, днів, гривень, грн, балів, клієнтів, років, року, разів, \
         символів, цифр",
    },
    // Greek
    Language {
        labels: "κωδικός, κωδικό, κωδικού, κωδικος, κωδικός επαλήθευσης, κωδικός επιβεβαίωσης, κωδικός ασφαλείας, \
         κωδικός πρόσβασης, κωδικός μίας χρήσης, κωδικός μιας χρήσης, κωδικός ενεργοποίησης, κωδικός σύνδεσης, κωδικός \
         εισόδου, συνθηματικό, κωδικός pin, κωδικός otp",
        not_labels: "ταχυδρομικός κώδικας, ταχυδρομικός κωδικός, εκπτωτικός κωδικός, κωδικός έκπτωσης, κωδικός \
         προσφοράς, κωδικός χώρας, κωδικός σφάλματος, κωδικός προϊόντος, κωδικός πελάτη, κωδικός παραγγελίας, γραμμωτός \
         κώδικας, κωδικός αποστολής, κωδικός κράτησης, ξεχάσατε τον κωδικό",
        owners: "παραγγελία, παραγγελίας, αριθμός παραγγελίας, τιμολόγιο, τιμολογίου, αριθμός τιμολογίου, αναφορά, \
         λογαριασμός, λογαριασμού, εισιτήριο, αποστολή, αποστολής, τηλέφωνο, τηλ, κινητό, φαξ, που λήγει σε, λήγει σε, \
         κράτηση, κράτησης, πελάτη, τ.κ, τκ, κωδικός έκπτωσης, κωδικός πελάτη, κωδικός παραγγελίας, κωδικός προϊόντος, \
         αφμ, καλέστε",
        between: "είναι, σας, σου, ο, το, αριθμός, εξής, εδώ",
        after: "είναι, ως",
        units: "λεπτά, λεπτών, δευτερόλεπτα, ώρες, ημέρες, ευρώ, πόντους, πελάτες, χρόνια, φορές, χαρακτήρες, \
         ψηφία",
    },
    // Arabic
    Language {
        labels: "رمز, الرمز, رمزك, كود, الكود, رمز التحقق, رمز التأكيد, رمز الأمان, رمز الدخول, رمز تسجيل الدخول, \
         رمز التفعيل, رمز المصادقة, رمز المرور, رمز التحقق الخاص بك, كود التحقق, كود التفعيل, كود التأكيد, كلمة المرور, \
         كلمة السر, كلمة مرور لمرة واحدة, كلمة المرور لمرة واحدة, الرقم السري, رقم التعريف الشخصي, رمز لمرة واحدة",
        not_labels: "الرمز البريدي, رمز بريدي, كود الخصم, رمز الخصم, رمز ترويجي, رمز القسيمة, رمز البلد, رمز الدولة, \
         رمز الخطأ, رمز المنطقة, رمز الاستجابة السريعة, كود المنتج, رمز الطلب, نسيت كلمة المرور",
        owners: "طلب, الطلب, رقم الطلب, طلبك رقم, فاتورة, الفاتورة, رقم الفاتورة, حساب, رقم الحساب, رقم العميل, \
         مرجع, رقم المرجع, الرقم المرجعي, تذكرة, رقم التذكرة, شحنة, رقم الشحنة, رقم التتبع, هاتف, الهاتف, رقم الهاتف, \
         جوال, فاكس, تنتهي بـ, المنتهية بـ, المنتهي بـ, حجز, رقم الحجز, ص.ب, الرمز البريدي, كود الخصم, اتصل بنا على",
        between: "هو, هي, الخاص, بك, التالي, رقم, يكون",
        after: "هو, هي",
        units: "دقيقة, دقائق, ثانية, ثوان, ساعة, ساعات, يوم, أيام, ريال, درهم, دولار, جنيه, نقطة, عميل, سنة, مرة, \
         أرقام",
    },
    // Hebrew
    Language {
        labels: "קוד, הקוד, לקוד, קוד אימות, קוד האימות, קוד אישור, קוד האישור, קוד אבטחה, קוד גישה, קוד כניסה, קוד \
         הכניסה, קוד הפעלה, קוד זמני, קוד חד פעמי, קוד התחברות, סיסמה, סיסמא, הסיסמה, סיסמה חד פעמית, סיסמה זמנית, קוד \
         סודי",
        not_labels: "קוד קופון, קוד הנחה, קוד מבצע, קוד מתנה, קוד שגיאה, קוד מדינה, קוד מוצר, קוד מקור, ברקוד, קוד qr, \
         קוד הזמנה, שכחת סיסמה",
        owners: "הזמנה, ההזמנה, מספר הזמנה, חשבונית, מספר חשבונית, חשבון, מספר חשבון, מספר לקוח, אסמכתא, פנייה, \
         מספר פנייה, משלוח, מספר משלוח, מספר מעקב, טלפון, טל, נייד, פקס, המסתיים ב, המסתיימת ב, שמסתיים ב, מיקוד, קוד \
         קופון, קוד הנחה, ח.פ, חייגו, קבלה",
        between: "הוא, היא, שלך, שלכם, הבא, מספר, הינו",
        after: "הוא, היא, הינו, זה",
        units: "דקות, דקה, שניות, שעות, ימים, שקלים, ש\"ח, נקודות, לקוחות, שנים, פעמים, ספרות, תווים",
    },
    // Persian
    Language {
        labels: "کد, رمز, کد تایید, کد تأیید, کد تایید شما, کد فعال سازی, کد فعال‌سازی, کد فعالسازی, کد امنیتی, کد \
         ورود, کد احراز هویت, کد یکبار مصرف, کد یک بار مصرف, رمز عبور, رمز یکبار مصرف, رمز یک بار مصرف, رمز پویا, رمز \
         موقت, گذرواژه, کلمه عبور, کد عبور",
        not_labels: "کد پستی, کد تخفیف, کد هدیه, کد کشور, کد خطا, کد منبع, کد محصول, کد معرف, کد رهگیری, کد پیگیری, کد \
         ملی, بارکد, کد سفارش, فراموشی رمز عبور, کد دعوت",
        owners: "سفارش, شماره سفارش, فاکتور, شماره فاکتور, حساب, شماره حساب, شماره مشتری, مرجع, شماره مرجع, بلیط, \
         مرسوله, کد رهگیری, کد پیگیری, شماره پیگیری, تلفن, شماره تلفن, موبایل, همراه, فکس, منتهی به, رزرو, شماره رزرو, \
         کد پستی, کد تخفیف, کد ملی, تماس با, کد سفارش",
        between: "شما, است, برابر, زیر, شماره, عبارت, از, این",
        after: "است, کد, رمز",
        units: "دقیقه, ثانیه, ساعت, روز, تومان, ریال, امتیاز, مشتری, سال, بار, رقم, رقمی",
    },
    // Hindi
    Language {
        labels: "कोड, ओटीपी, पिन, सत्यापन कोड, पुष्टि कोड, सुरक्षा कोड, प्रमाणीकरण कोड, लॉगिन कोड, एक्टिवेशन कोड, \
         वन टाइम पासवर्ड, वन-टाइम पासवर्ड, एक बार का पासवर्ड, पासवर्ड, पासकोड, वेरिफिकेशन कोड, एक्सेस कोड",
        not_labels: "पिन कोड, पिनकोड, डाक कोड, कूपन कोड, प्रोमो कोड, डिस्काउंट कोड, छूट कोड, गिफ्ट कोड, क्यूआर कोड, \
         बारकोड, देश कोड, त्रुटि कोड, रेफरल कोड",
        owners: "ऑर्डर, ऑर्डर नंबर, ऑर्डर संख्या, चालान, चालान संख्या, बिल, खाता, खाते, खाता संख्या, ग्राहक संख्या, \
         संदर्भ, संदर्भ संख्या, टिकट, ट्रैकिंग, फ़ोन, फोन, मोबाइल, समाप्त होने वाले, बुकिंग, बुकिंग नंबर, पिन कोड, \
         पिनकोड, कूपन कोड, कॉल करें",
        between: "है, हैं, आपका, आपकी, यह, नंबर, संख्या, निम्न, के, लिए",
        after: "है, हैं, आपका, आपकी",
        units: "मिनट, सेकंड, घंटे, घंटा, दिन, रुपये, रुपए, अंक, ग्राहक, साल, वर्ष, बार, अंकों",
    },
    // Indonesian
    Language {
        labels: "kode, kode verifikasi, kode konfirmasi, kode keamanan, kode akses, kode aktivasi, kode otentikasi, \
         kode autentikasi, kode login, kode masuk, kode otp, kode sekali pakai, kata sandi, kata sandi sekali pakai, \
         sandi, kode pin, password sekali pakai, kode rahasia",
        not_labels: "kode pos, kode promo, kode diskon, kode voucher, kode kupon, kode referral, kode undangan, kode \
         negara, kode area, kode kesalahan, kode qr, kode batang, kode sumber, kode produk, kode booking, kode pesanan, \
         lupa kata sandi, kode resi",
        owners: "pesanan, nomor pesanan, no pesanan, faktur, nomor faktur, tagihan, referensi, rekening, nomor \
         rekening, tiket, resi, no resi, nomor resi, pelacakan, telepon, telp, hp, faks, berakhiran, yang berakhir, \
         pelanggan, kode pos, kode promo, kode booking, kode pesanan, kode voucher, hubungi, transaksi, nomor \
         transaksi, invoice, sejak",
        between: "adalah, ini, anda, kamu, ialah, yaitu, nomor, no, berikut, masukkan, gunakan",
        after: "adalah, sebagai, ini",
        units: "menit, detik, jam, hari, rupiah, poin, pelanggan, tahun, kali, karakter, digit, angka",
    },
    // Vietnamese
    Language {
        labels: "mã, mã xác minh, mã xác nhận, mã xác thực, mã bảo mật, mã otp, mã truy cập, mã kích hoạt, mã đăng \
         nhập, mã pin, mã dùng một lần, mật khẩu, mật khẩu dùng một lần, mật khẩu một lần, mật khẩu tạm thời, mã của \
         bạn",
        not_labels: "mã bưu điện, mã bưu chính, mã giảm giá, mã khuyến mãi, mã khuyến mại, mã quà tặng, mã giới thiệu, \
         mã vạch, mã qr, mã quốc gia, mã vùng, mã lỗi, mã nguồn, mã sản phẩm, mã đơn hàng, mã vận đơn, mã khách hàng, \
         mã đặt chỗ, quên mật khẩu, mã số thuế, mã hóa đơn, mã giao dịch",
        owners: "đơn hàng, đơn hàng số, mã đơn hàng, số đơn hàng, hóa đơn, số hóa đơn, mã hóa đơn, tham chiếu, tài \
         khoản, số tài khoản, vé, mã vận đơn, vận đơn, điện thoại, số điện thoại, đt, sđt, di động, fax, kết thúc bằng, \
         có đuôi, khách hàng, mã khách hàng, mã giảm giá, mã đặt chỗ, mã số thuế, mst, hotline, gọi, mã bưu điện, mã \
         giao dịch",
        between: "là, của, bạn, này, số, sau, đây, dưới, nhập",
        after: "là, làm",
        units: "phút, giây, giờ, ngày, đồng, vnđ, điểm, khách hàng, năm, lần, ký tự, chữ số",
    },
    // Thai
    Language {
        labels: "รหัส, รหัสยืนยัน, รหัสผ่าน, รหัส otp, โอทีพี, รหัสผ่านครั้งเดียว, รหัสผ่านแบบใช้ครั้งเดียว, \
         รหัสความปลอดภัย, รหัสเข้าใช้งาน, รหัสการเข้าถึง, รหัสเปิดใช้งาน, รหัสพิน, รหัสลับ, รหัสตรวจสอบ, \
         รหัสยืนยันตัวตน",
        not_labels: "รหัสไปรษณีย์, รหัสส่วนลด, รหัสโปรโมชั่น, รหัสคูปอง, โค้ดส่วนลด, รหัสประเทศ, รหัสข้อผิดพลาด, \
         รหัสสินค้า, รหัสลูกค้า, รหัสคำสั่งซื้อ, รหัสอ้างอิง, บาร์โค้ด, ลืมรหัสผ่าน, รหัสการจอง, รหัสพัสดุ, \
         เปลี่ยนรหัสผ่าน",
        owners: "คำสั่งซื้อ, หมายเลขคำสั่งซื้อ, เลขที่คำสั่งซื้อ, รหัสคำสั่งซื้อ, ใบแจ้งหนี้, เลขที่ใบแจ้งหนี้, \
         อ้างอิง, เลขอ้างอิง, หมายเลขอ้างอิง, รหัสอ้างอิง, บัญชี, เลขที่บัญชี, หมายเลขพัสดุ, เลขพัสดุ, โทร, โทรศัพท์, \
         มือถือ, แฟกซ์, ลงท้ายด้วย, การจอง, รหัสไปรษณีย์, รหัสส่วนลด, รหัสลูกค้า, รหัสสินค้า",
        between: "คือ, ของ, คุณ, ของคุณ, ของคุณคือ, ของท่าน, ของท่านคือ, เลขที่, หมายเลข, นี้, ด้านล่าง",
        after: "คือ, เป็น",
        units: "นาที, วินาที, ชั่วโมง, วัน, บาท, คะแนน, ลูกค้า, ปี, ครั้ง, หลัก, ตัวอักษร",
    },
    // Chinese
    Language {
        labels: "验证码, 驗證碼, 校验码, 校驗碼, 动态码, 動態碼, 动态密码, 動態密碼, 动态口令, 確認碼, 确认码, \
         安全码, 安全碼, 登录码, 登入碼, 登录验证码, 短信验证码, 激活码, 啟用碼, 认证码, 認證碼, 授权码, 授權碼, \
         一次性密码, 一次性密碼, 一次性代码, 一次性验证码, 密码, 密碼, 口令, 验证代码, 驗證代碼, 安全代码, 安全代碼, \
         代码, 代碼, 识别码, 临时密码, 臨時密碼, 通行码, 通行碼, 访问码, 校验代码, 提取码",
        not_labels: "邮政编码, 郵遞區號, 邮编, 优惠码, 優惠碼, 折扣码, 折扣碼, 促销码, 兑换码, 兌換碼, 邀请码, 邀請碼, \
         推荐码, 二维码, 二維碼, 条形码, 條碼, 错误代码, 錯誤代碼, 国家代码, 源代码, 原始碼, 商品代码, 优惠代码, \
         優惠代碼, 促销代码, 股票代码, 信用代码, 忘记密码, 忘記密碼, 修改密码, 重置密码, 重設密碼, 更改密碼",
        owners: "订单, 訂單, 订单号, 訂單號, 訂單編號, 订单编号, 发票, 發票, 发票号, 發票號碼, 单号, 單號, 运单号, \
         快递单号, 物流单号, 参考号, 参考编号, 参考號, 账号, 帳號, 账户, 帳戶, 客户编号, 电话, 電話, 手机, 手機, \
         手机号, 热线, 客服, 客服热线, 传真, 尾号, 尾號, 尾号为, 末四码, 末四碼, 工单, 工单号, 票号, 合同, 会员号, \
         邮编, 优惠码, 優惠碼, 邀请码, 兑换码, 流水号, 备案, 编号, 編號, 預約編號, 折扣码",
        between: "是, 为, 為, 您的, 你的, 如下, 号, 號, 号码, 號碼, 为您的, 是您的, 请输入, 請輸入",
        after: "是, 为, 為, 作为, 作為",
        units: "分钟, 分鐘, 秒, 小时, 小時, 天, 元, 块, 積分, 积分, 人, 年, 月, 次, 个, 個, 位, 名, 件, 万, 字符",
    },
    // Japanese
    Language {
        labels: "認証コード, 確認コード, セキュリティコード, ログインコード, アクセスコード, パスコード, \
         ワンタイムパスワード, ワンタイムコード, ワンタイムパスコード, 認証番号, 確認番号, 暗証番号, 検証コード, \
         本人確認コード, コード, パスワード, 仮パスワード, 認証キー, 二段階認証コード, アクティベーションコード, \
         承認コード, 登録コード, ピンコード, pinコード, 認証用コード, 確認用コード",
        not_labels: "バーコード, qrコード, クーポンコード, 割引コード, プロモーションコード, プロモコード, \
         ギフトコード, 招待コード, 紹介コード, エラーコード, ステータスコード, ソースコード, 国コード, 商品コード, \
         キャンペーンコード, 郵便番号, 優待コード, シリアルコード, パスワードをお忘れ, パスワードを変更, 銀行コード, \
         支店コード, ドレスコード",
        owners: "注文, ご注文, 注文番号, ご注文番号, 請求書, 請求書番号, 請求番号, 参照番号, 口座, 口座番号, \
         会員番号, お客様番号, 顧客番号, 伝票番号, お問い合わせ番号, お問い合わせ伝票番号, 追跡番号, 電話, 電話番号, \
         tel, 携帯, fax, 末尾, 下4桁, 下四桁, 予約, 予約番号, 受付番号, 郵便番号, 〒, クーポンコード, チケット番号, \
         契約番号, 商品コード, 管理番号, 整理番号, 招待コード, 割引コード, 登録番号",
        between: "は, が, こちら, はこちら, 次の, 以下, です, 番号, は次のとおりです, は以下の通りです, \
         は以下のとおりです, は次の通りです, をご入力ください, を入力してください, はこちらです",
        after: "が, は, です, を",
        units: "分, 分間, 秒, 時間, 日, 円, ポイント, 人, 名, 年, 月, 回, 件, 文字, 桁, 個, 点, 社, 万",
    },
    // Korean
    Language {
        labels: "인증번호, 인증 번호, 인증코드, 인증 코드, 확인코드, 확인 코드, 보안코드, 보안 코드, 확인번호, \
         일회용 비밀번호, 일회용비밀번호, 일회용 코드, 임시 비밀번호, 임시비밀번호, 비밀번호, 로그인 코드, 액세스 코드, \
         접속 코드, 코드, 핀번호, 승인번호, 본인확인 번호, 패스코드, 활성화 코드, 검증 코드",
        not_labels: "우편번호, 할인코드, 할인 코드, 쿠폰코드, 쿠폰 코드, 쿠폰번호, 프로모션 코드, 초대코드, 초대 코드, \
         추천 코드, 추천인 코드, 바코드, qr코드, qr 코드, 국가 코드, 국가번호, 오류 코드, 소스 코드, 상품 코드, \
         상품코드, 에러 코드, 비밀번호 변경, 비밀번호를 잊",
        owners: "주문, 주문번호, 주문 번호, 송장, 송장번호, 운송장, 운송장번호, 운송장 번호, 청구서, 청구서 번호, \
         인보이스, 참조번호, 계좌, 계좌번호, 고객번호, 고객 번호, 회원번호, 문의번호, 접수번호, 예약번호, 예약 번호, \
         전화, 전화번호, 휴대폰, 팩스, 끝자리, 고객센터, 우편번호, 쿠폰번호, 할인코드, 할인 코드, 쿠폰 코드, \
         사업자등록번호, 티켓",
        between: "는, 은, 이, 가, 입니다, 다음, 아래, 번호, 는 다음과 같습니다, 은 다음과 같습니다, 는 아래와 \
         같습니다",
        after: "는, 은, 이, 가, 입니다",
        units: "분, 초, 시간, 일, 원, 포인트, 명, 년, 월, 회, 건, 자리, 글자, 개, 점, 만",
    },
];
