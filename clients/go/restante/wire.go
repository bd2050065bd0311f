// The responses of the server. Written by clients/generate.py.

package restante

import "time"

// Health: The server answers.
type Health struct {
	// One of ok.
	Status string `json:"status"`
}

// InboxFields: An address at which a test receives mail.
type InboxFields struct {
	// The inbox identifier: the local part of the address, or a generated one if the address is on another domain than the
	// mail domain.
	ID string `json:"id"`
	// The recipient address.
	Address string `json:"address"`
	// A temporary inbox expires automatically; a permanent one is managed in the dashboard. One of temporary, permanent.
	Kind string `json:"kind"`
	// UTC, with milliseconds.
	CreatedAt time.Time `json:"created_at"`
	// One hour after creation for a temporary inbox, or after the last PUT of its address. After that, requests for the
	// inbox and its messages return 404. Null: never.
	ExpiresAt *time.Time `json:"expires_at"`
}

// MessageFields: A received message.
type MessageFields struct {
	// The message identifier, also the `after` cursor.
	ID string `json:"id"`
	// The inbox that contains the message.
	InboxID string `json:"inbox_id"`
	// The first address of the From header; if it has none, the envelope sender, which may be empty.
	From string `json:"from"`
	// The recipient address, which is the inbox address.
	To string `json:"to"`
	// The decoded subject; empty if there is none.
	Subject string `json:"subject"`
	// The plain text. Lines end with \n; trailing line breaks are removed. If the message has only HTML: that HTML as
	// readable text.
	Text string `json:"text"`
	// The HTML; empty if there is none.
	HTML string `json:"html"`
	// Absolute URIs without duplicates: first those of the HTML, then those of the text, each in document order.
	Links []string `json:"links"`
	// A labelled code of 4 to 8 digits; if none, the first 6-digit word; if none, empty.
	OTP string `json:"otp"`
	// UTC, with milliseconds.
	ReceivedAt time.Time `json:"received_at"`
}

// Envelope: How a message arrived.
type Envelope struct {
	// Empty for the null reverse-path.
	From string `json:"from"`
	// The recipient.
	To string `json:"to"`
	// The name that the client gave in EHLO or HELO.
	Helo string `json:"helo"`
	// The client's address; null if this service composed the message.
	Client string `json:"client"`
	// The TLS version; null without TLS. One of TLSv1.2, TLSv1.3.
	TLS string `json:"tls"`
	// Whether the client authenticated.
	Authenticated *bool `json:"authenticated"`
	// The way by which it arrived; null for a report of this service. One of smtp, api, ses, resend, sendgrid, postmark,
	// mailgun, mailpit.
	Via string `json:"via"`
}

// Header: A header field.
type Header struct {
	// Its name.
	Name string `json:"name"`
	// Decoded, unfolded.
	Value string `json:"value"`
}

// Mailbox: A name and an address in a header field.
type Mailbox struct {
	// The display name.
	Name string `json:"name"`
	// The address.
	Address string `json:"address"`
}

// OTP: A one-time code, and how it was recognised.
type OTP struct {
	// The digits.
	Code string `json:"code"`
	// The rule that recognised it. One of domain_bound, label_before, label_after, alone_below_label, same_sentence,
	// alone_above_label, six_digits.
	Rule string `json:"rule"`
	// Its line.
	Line string `json:"line"`
}

// Code: A labelled code in any form, and how it was recognised.
type Code struct {
	// As a person would type it: digits without spaces, or letters and digits with their hyphens.
	Code string `json:"code"`
	// The rule that recognised it. One of domain_bound, label_before, label_after, alone_below_label, same_sentence,
	// alone_above_label, six_digits.
	Rule string `json:"rule"`
	// Its line.
	Line string `json:"line"`
}

// Link: A link with its text.
type Link struct {
	// Its target.
	URL string `json:"url"`
	// The text of the link.
	Text string `json:"text"`
	// Where it was found. One of html, text.
	Source string `json:"source"`
}

// AttachmentInfo: An attachment without its bytes.
type AttachmentInfo struct {
	// Counts from 0.
	Index int `json:"index"`
	// Its name.
	Filename string `json:"filename"`
	// Its media type.
	ContentType string `json:"content_type"`
	// The size of the decoded bytes.
	Size int `json:"size"`
	// Its Content-ID.
	ContentID string `json:"content_id"`
	// Whether it is shown in the message.
	Inline bool `json:"inline"`
}

// ListUnsubscribe: The List-Unsubscribe header.
type ListUnsubscribe struct {
	// Its URLs.
	URLs []string `json:"urls"`
	// Whether one POST request unsubscribes.
	OneClick bool `json:"one_click"`
}

// Details: All details of one message.
type Details struct {
	// Identifies the message.
	ID string `json:"id"`
	// The inbox that contains it.
	InboxID string `json:"inbox_id"`
	// Bytes as received.
	Size int `json:"size"`
	// When it was accepted.
	ReceivedAt time.Time `json:"received_at"`
	// How it arrived.
	Envelope Envelope `json:"envelope"`
	// The header fields, in order.
	Headers []Header `json:"headers"`
	// The authors.
	From []Mailbox `json:"from"`
	// The recipients in the header.
	To []Mailbox `json:"to"`
	// The recipients of copies.
	Cc []Mailbox `json:"cc"`
	// Where replies go.
	ReplyTo []Mailbox `json:"reply_to"`
	// The Message-ID, with angle brackets.
	MessageID string `json:"message_id"`
	// The Message-ID of the message to which it replies.
	InReplyTo string `json:"in_reply_to"`
	// The date in the header.
	Date *time.Time `json:"date"`
	// The one-time code as in the field `otp` of the message: labelled digits, or the first six-digit number.
	OTP *OTP `json:"otp"`
	// The code that a person would type, in any form: `otp` if it is labelled, or else a labelled code with letters or
	// with 9 or 10 digits. The first of `codes`.
	Code *Code `json:"code"`
	// The labelled codes, each once. If there are several, the message has several labels with different codes.
	Codes []Code `json:"codes"`
	// The links, with their texts.
	Links []Link `json:"links"`
	// The attachments.
	Attachments []AttachmentInfo `json:"attachments"`
	// The List-Unsubscribe header.
	ListUnsubscribe *ListUnsubscribe `json:"list_unsubscribe"`
}

// Sent: An accepted message.
type Sent struct {
	// Identifies the queued outgoing item.
	ID string `json:"id"`
	// `queued`: the message is stored and will be delivered. One of queued.
	Status string `json:"status"`
}

// Fault: What fails, and when: `rcpt` is at RCPT TO for this recipient, `data` after the message was received.
type Fault struct {
	// The SMTP stage: this recipient's RCPT TO, or after the message has been received. One of rcpt, data.
	At string `json:"at"`
	// The kind of fault. One of defer, reject, disconnect, reset, delay, bounce, drop, duplicate.
	Do string `json:"do"`
	// How often the fault applies.
	Times int `json:"times,omitempty"`
	// The reply, one line with an enhanced status code.
	Reply string `json:"reply,omitempty"`
	// Whether the message is stored first.
	Store *bool `json:"store,omitempty"`
	// How long the reply is delayed.
	Seconds int `json:"seconds,omitempty"`
}

// FaultState: A fault as given, with its uses.
type FaultState struct {
	// When it applies. One of rcpt, data.
	At string `json:"at"`
	// What goes wrong. One of defer, reject, disconnect, reset, delay, bounce, drop, duplicate.
	Do string `json:"do"`
	// How often it applies.
	Times int `json:"times"`
	// The reply of `defer` and `reject`.
	Reply string `json:"reply,omitempty"`
	// How many seconds `delay` delays the reply.
	Seconds int `json:"seconds,omitempty"`
	// Whether `disconnect` or `reset` at `data` stores the message first.
	Store *bool `json:"store,omitempty"`
	// How often it still applies.
	Left int `json:"left"`
	// How often it was used.
	Used int `json:"used"`
	// The times of its uses, oldest first.
	Uses []time.Time `json:"uses"`
}

// Ended: How an inbox ended.
type Ended struct {
	// `expired` or `deleted`. One of expired, deleted.
	Reason string `json:"reason"`
	// When it ended.
	At time.Time `json:"at"`
}

// Arrived: A received message, with the filters that exclude it.
type Arrived struct {
	// Identifies the message; also the cursor `after`.
	ID string `json:"id"`
	// The sender's address.
	From string `json:"from"`
	// The subject.
	Subject string `json:"subject"`
	// When it was accepted.
	ReceivedAt time.Time `json:"received_at"`
	// The filters that exclude it.
	MissedBy []string `json:"missed_by"`
}

// ArrivedMessages: How many messages are in the inbox, and the newest.
type ArrivedMessages struct {
	// How many there are.
	Count int `json:"count"`
	// The newest.
	Latest []Arrived `json:"latest"`
}

// Refused: Mail that was rejected.
type Refused struct {
	// When it was rejected.
	At time.Time `json:"at"`
	// The client's address.
	Client string `json:"client"`
	// The reverse path.
	Sender string `json:"sender"`
	// The recipient.
	Recipient string `json:"recipient"`
	// The reply to the client.
	Reply string `json:"reply"`
}

// Similar: Another inbox that received mail.
type Similar struct {
	// Its address.
	Address string `json:"address"`
	// How many messages it has.
	Messages int `json:"messages"`
	// When the last one arrived.
	LastReceivedAt time.Time `json:"last_received_at"`
}

// SMTPUse: The use of SMTP.
type SMTPUse struct {
	// How many connections are open.
	ConnectionsOpen int `json:"connections_open"`
	// When the last client connected.
	LastConnectionAt *time.Time `json:"last_connection_at"`
	// When the last message was accepted.
	LastMessageAt *time.Time `json:"last_message_at"`
}

// SendApisUse: When each API for sending was last used; null if it was not.
type SendApisUse struct {
	// Amazon SES.
	Ses *time.Time `json:"ses"`
	// Resend.
	Resend *time.Time `json:"resend"`
	// SendGrid.
	Sendgrid *time.Time `json:"sendgrid"`
	// Postmark.
	Postmark *time.Time `json:"postmark"`
	// Mailgun.
	Mailgun *time.Time `json:"mailgun"`
}

// Explanation: The explanation of a missing message.
type Explanation struct {
	// One sentence for a person.
	Summary string `json:"summary"`
	// The sentence, then the newest messages, the rejections and the other inboxes that it does not name, in lines: what a
	// client prints about a wait that failed.
	Report string `json:"report"`
	// The cause in the summary, for programs. One of inbox_expired, inbox_deleted, late, arrived, unexpected,
	// filter_missed, nothing_new, fault, bare_line_end, inbox_full, other_domain, rejected, typo, other_address,
	// login_failed, tls_failed, wrong_port, no_mail, sent_elsewhere, nothing_connected.
	Cause string `json:"cause"`
	// The inbox; null if it has ended.
	Inbox *InboxFields `json:"inbox"`
	// How it ended, if it has.
	Ended *Ended `json:"ended"`
	// The messages in it.
	Messages ArrivedMessages `json:"messages"`
	// What was rejected since the inbox was created, or for a wait that timed out, since five minutes before it. Mail to
	// this inbox is first.
	Refused []Refused `json:"refused"`
	// Similar addresses that received mail.
	Similar []Similar `json:"similar"`
	// The use of SMTP at the whole installation.
	SMTP SMTPUse `json:"smtp"`
	// When each API for sending was last used at the whole installation.
	SendApis SendApisUse `json:"send_apis"`
}

// EventFilters: The filters of a wait.
type EventFilters struct {
	// The filter for the subject.
	Subject string `json:"subject,omitempty"`
	// The filter for the sender.
	From string `json:"from,omitempty"`
	// The filter for the To and Cc headers.
	To string `json:"to,omitempty"`
	// The filter for the text.
	Text string `json:"text,omitempty"`
	// The filter for a header field.
	Header string `json:"header,omitempty"`
	// What the message must have.
	Has string `json:"has,omitempty"`
	// The cursor.
	After string `json:"after,omitempty"`
	// What only the client compares, as it describes it.
	Client string `json:"client,omitempty"`
	// The timeout in milliseconds.
	Timeout int `json:"timeout"`
}

// Exchange: An SMTP command with its reply. It never contains a password, a body or a key.
type Exchange struct {
	// The command; empty for the greeting.
	Command string `json:"command"`
	// The reply; empty if there was none.
	Reply string `json:"reply"`
}

// InboxEvent: One event. A field that its kind does not have is missing.
type InboxEvent struct {
	// When it happened.
	At time.Time `json:"at"`
	// What happened. One of created, claimed, wait_started, wait_ended, smtp, send_api, fault_used, stored, refused, sent,
	// expired, deleted.
	Kind string `json:"kind"`
	// The event in one line.
	Text string `json:"text"`
	// Of a wait: its filters.
	Filters *EventFilters `json:"filters,omitempty"`
	// Of the end of a wait, or of an attempt to send: its result.
	Outcome string `json:"outcome,omitempty"`
	// The message: stored, found by a wait, or sent.
	MessageID string `json:"message_id,omitempty"`
	// Of a wait that timed out: the page that explains it.
	Failure string `json:"failure,omitempty"`
	// The client's address.
	Client string `json:"client,omitempty"`
	// The TLS version of the session.
	TLS string `json:"tls,omitempty"`
	// Of an SMTP session: its commands and replies.
	Commands []Exchange `json:"commands,omitempty"`
}
