// Sends one message with Go's net/smtp: ADDRESS FROM TO, the message on standard input.
package main

import (
	"io"
	"log"
	"net/smtp"
	"os"
)

func main() {
	address, from, to := os.Args[1], os.Args[2], os.Args[3]
	message, err := io.ReadAll(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	auth := smtp.PlainAuth("", "app", "secret", "127.0.0.1")
	if err := smtp.SendMail(address, auth, from, []string{to}, message); err != nil {
		log.Fatal(err)
	}
}
