# Sends one message with Ruby's net/smtp, as Rails's mailer does: PORT FROM TO, the message on standard input.
require "net/smtp"

port, from, to = ARGV
# The certificate is self-signed.
Net::SMTP.start("127.0.0.1", port.to_i, helo: "client.example", user: "app", secret: "secret", authtype: :plain,
                tls_verify: false) do |smtp|
  smtp.send_message($stdin.read, from, to)
end
