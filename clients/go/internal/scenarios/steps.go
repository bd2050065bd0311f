// The steps of a scenario, as calls of the client.

package scenarios

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/restante/restante/clients/go/restante"
)

const defaultTimeout = 30 * time.Second

func (r *run) do(step map[string]any, names *names) (any, error) {
	switch step["do"] {
	case "client":
		config := restante.Config{URL: text(step, "url"), APIKey: text(step, "api_key"), Timeout: duration(step["timeout"])}
		return r.client(config)
	case "mail":
		return nil, r.mail(step)
	case "mail_over_tls":
		return nil, deliverOverTLS(r.server.Config().SMTP.Addr(), text(step, "to"))
	case "join":
		return nil, <-names.get(text(step, "name")).(chan error)
	case "until_waits_are_open":
		return nil, r.untilWaitsAreOpen(names)
	case "restart":
		return nil, r.restart(step["kill"] == true)
	case "check":
		return step["value"], nil
	case "totp":
		return restante.TOTP(r.ctx, text(step, "secret"))
	case "health", "create", "find", "inbox_for", "message":
		return r.doClient(names.get(text(step, "client")).(*restante.Client), step)
	}
	if name, isMessage := step["message"].(string); isMessage {
		return r.doMessage(names.get(name).(*restante.Message), step)
	}
	return r.doInbox(names.get(text(step, "inbox")).(*restante.Inbox), step)
}

func (r *run) mail(step map[string]any) error {
	reply, err := deliver(r.server.Config().SMTP.Addr(), step)
	wanted := text(step, "refused")
	if wanted == "" {
		wanted = "250"
	}
	if err == nil && !strings.HasPrefix(reply, wanted) {
		err = fmt.Errorf("the reply is %s", reply)
	}
	return err
}

func (r *run) doClient(client *restante.Client, step map[string]any) (any, error) {
	switch step["do"] {
	case "health":
		return client.Health(r.ctx)
	case "create":
		return client.CreateInbox(r.ctx, restante.Label(text(step, "label")))
	case "find":
		return client.Inbox(r.ctx, text(step, "inbox"))
	case "inbox_for":
		return client.InboxFor(r.ctx, text(step, "address"), restante.Label(text(step, "label")))
	}
	return client.Message(r.ctx, text(step, "id"))
}

func (r *run) doMessage(message *restante.Message, step map[string]any) (any, error) {
	switch step["do"] {
	case "code":
		if step["matching"] == nil {
			return message.Code(r.ctx)
		}
		match, words := regex(step["matching"]), strings.ToLower(text(step, "matching"))
		return message.CodeFunc(r.ctx, func(code restante.Code) bool {
			if match != nil {
				return match.MatchString(code.Code) || match.MatchString(code.Line)
			}
			return strings.Contains(strings.ToLower(code.Code+"\n"+code.Line), words)
		})
	case "link":
		if words := text(step, "text"); words != "" {
			return message.LinkText(r.ctx, words)
		}
		if match := regex(step["match"]); match != nil {
			return message.LinkFunc(match.MatchString)
		}
		return message.Link(text(step, "match"))
	case "details":
		return message.Details(r.ctx)
	case "attachments":
		return message.Attachments(r.ctx)
	case "attachment":
		if match := regex(step["name"]); match != nil {
			return message.AttachmentFunc(r.ctx, match.MatchString)
		}
		return message.Attachment(r.ctx, text(step, "name"))
	case "checks":
		return message.Checks(r.ctx)
	case "assert_checks":
		var ignored []string
		for _, name := range list(step["ignore"]) {
			ignored = append(ignored, name.(string))
		}
		return nil, message.Check(r.ctx, ignored...)
	case "forward":
		return message.Forward(r.ctx, text(step, "to"))
	case "raw":
		return message.Raw(r.ctx)
	case "reply":
		return message.Reply(r.ctx, restante.Reply{Text: text(step, "text"), HTML: text(step, "html")})
	case "delete":
		return nil, message.Delete(r.ctx)
	}
	panic(fmt.Sprint("unknown step ", step["do"]))
}

func (r *run) doInbox(inbox *restante.Inbox, step map[string]any) (any, error) {
	switch step["do"] {
	case "wait":
		return inbox.WaitForMessage(r.ctx, options(step)...)
	case "wait_messages":
		return inbox.WaitForMessages(r.ctx, int(step["count"].(float64)), options(step)...)
	case "expect_no_message":
		return nil, inbox.ExpectNoMessage(r.ctx, duration(step["within"]), options(step)...)
	case "messages":
		return r.messages(inbox, step)
	case "explain":
		return inbox.Explain(r.ctx, options(step)...)
	case "send":
		return inbox.Send(r.ctx, restante.Outgoing{
			To: text(step, "to"), Subject: text(step, "subject"), Text: text(step, "text"), HTML: text(step, "html"),
			InReplyTo: text(step, "in_reply_to"),
		})
	case "set_faults":
		var faults []restante.Fault
		encoded, err := json.Marshal(step["faults"])
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(encoded, &faults); err != nil {
			return nil, err
		}
		return inbox.SetFaults(r.ctx, faults...)
	case "faults":
		return inbox.Faults(r.ctx)
	case "delete":
		return nil, inbox.Delete(r.ctx)
	}
	panic(fmt.Sprint("unknown step ", step["do"]))
}

func (r *run) messages(inbox *restante.Inbox, step map[string]any) (any, error) {
	var messages []*restante.Message
	for message, err := range inbox.Messages(r.ctx, options(step)...) {
		if err != nil {
			return nil, err
		}
		messages = append(messages, message)
	}
	return messages, nil
}

// textOptions are the filters that are a text or a regular expression.
var textOptions = map[string]struct {
	contains func(string) restante.Option
	matches  func(*regexp.Regexp) restante.Option
}{
	"subject": {restante.Subject, restante.SubjectMatches},
	"from":    {restante.From, restante.FromMatches},
	"to":      {restante.To, restante.ToMatches},
	"text":    {restante.Text, restante.TextMatches},
}

// options returns the filters of a step.
func options(step map[string]any) []restante.Option {
	var options []restante.Option
	add := func(option restante.Option) { options = append(options, option) }
	for name, value := range step {
		pattern := regex(value)
		words, _ := value.(string)
		switch {
		case textOptions[name].contains != nil && pattern != nil:
			add(textOptions[name].matches(pattern))
		case textOptions[name].contains != nil:
			add(textOptions[name].contains(words))
		case name == "header":
			for field, match := range object(value) {
				if pattern := regex(match); pattern != nil {
					add(restante.HeaderMatches(field, pattern))
				} else {
					add(restante.HeaderContains(field, match.(string)))
				}
			}
		case name == "after":
			add(restante.After(words))
		case name == "timeout":
			add(restante.Timeout(duration(value)))
		case name == "where":
			add(restante.Where(func(message *restante.Message) bool { return matches(jsonOf(message), value) }))
		case name == "has":
			for _, part := range list(value) {
				add(map[string]restante.Option{
					"code": restante.HasCode(), "otp": restante.HasOTP(), "link": restante.HasLink(),
				}[part.(string)])
			}
		}
	}
	return options
}

// regex returns the regular expression in a value, or nil.
func regex(value any) *regexp.Regexp {
	pattern, isRegex := object(value)["$regex"].(string)
	if !isRegex {
		return nil
	}
	if flags, _ := object(value)["flags"].(string); strings.Contains(flags, "i") {
		pattern = "(?i)" + pattern
	}
	return regexp.MustCompile(pattern)
}

func duration(value any) time.Duration {
	seconds, _ := value.(float64)
	return time.Duration(seconds * float64(time.Second))
}
