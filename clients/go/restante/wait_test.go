package restante

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const (
	messageJSON = `{"id": "m1", "inbox_id": "k3v9", "from": "a@app.example", "to": "k3v9@restante.example.com",
		"subject": "Hello", "text": "", "html": "", "links": [], "otp": "", "received_at": "2026-11-20T09:30:02.456Z"}`
	inboxJSON = `{"id": "k3v9", "address": "k3v9@restante.example.com", "kind": "temporary",
		"created_at": "2026-11-20T09:30:00.123Z", "expires_at": null}`
)

var (
	errLost    = &net.OpError{Op: "read", Err: errors.New("reset by peer")}
	errRefused = &net.OpError{Op: "dial", Err: errors.New("connection refused")}
)

// answer is one answer of a scripted server, after a time on the clock of the test.
type answer struct {
	status int
	body   string
	err    error
	after  time.Duration
	header http.Header
}

func reply(status int) answer { return answer{status: status, body: `{"error": "words"}`} }

func (a answer) in(after time.Duration) answer {
	a.after = after
	return a
}

// script answers requests one after another, the last answer for ever.
type script struct {
	answers  []answer
	requests []*http.Request
	times    []time.Time
}

func (s *script) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.HasSuffix(request.URL.Path, "/explain") {
		return response(reply(500)), nil
	}
	s.requests = append(s.requests, request)
	s.times = append(s.times, time.Now())
	next := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	select {
	case <-time.After(next.after):
	case <-request.Context().Done():
		return nil, request.Context().Err()
	}
	if next.err != nil {
		return nil, next.err
	}
	return response(next), nil
}

func response(a answer) *http.Response {
	header := a.header
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: a.status, Header: header, Body: io.NopCloser(strings.NewReader(a.body))}
}

func (s *script) timeouts() []int {
	var timeouts []int
	for _, request := range s.requests {
		milliseconds, _ := strconv.Atoi(request.URL.Query().Get("timeout"))
		timeouts = append(timeouts, milliseconds)
	}
	return timeouts
}

// scripted returns a client with scripted answers, and one of its inboxes.
func scripted(t *testing.T, answers ...answer) (*script, *Client, *Inbox) {
	t.Helper()
	client, err := New(Config{URL: "http://server", APIKey: "rst_live_secret", Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	script := &script{answers: answers}
	client.connection.client.Transport = script
	fields := InboxFields{ID: "k3v9", Address: "k3v9@restante.example.com"}
	return script, client, &Inbox{InboxFields: fields, connection: client.connection, timeout: client.config.Timeout}
}

func wantError[E error](t *testing.T, err error, parts ...string) E {
	t.Helper()
	var wanted E
	if !errors.As(err, &wanted) {
		t.Fatalf("it is %T: %v", err, err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
	return wanted
}

func equal[T comparable](t *testing.T, found, wanted []T) {
	t.Helper()
	if len(found) != len(wanted) {
		t.Fatalf("found %v, not %v", found, wanted)
	}
	for index := range found {
		if found[index] != wanted[index] {
			t.Fatalf("found %v, not %v", found, wanted)
		}
	}
}

func TestALongWaitIsSeveralRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := reply(408).in(120 * time.Second)
		script, _, inbox := scripted(t, end, end, answer{status: 200, body: messageJSON})
		message, err := inbox.WaitForMessage(t.Context(), Timeout(300*time.Second))
		if err != nil || message.ID != "m1" {
			t.Fatal(message, err)
		}
		equal(t, script.timeouts(), []int{120_000, 120_000, 60_000})
	})
}

func TestA408IsNotRepeatedAsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script, _, inbox := scripted(t, reply(408).in(7*time.Second), reply(408).in(3*time.Second))
		_, err := inbox.WaitForMessage(t.Context(), Timeout(10*time.Second))
		timeout := wantError[*WaitTimeoutError](t, err, "within 10 s", "explanation could not be read")
		if timeout.Explanation != nil || timeout.Waited != 10*time.Second {
			t.Error(timeout.Explanation, timeout.Waited)
		}
		equal(t, script.timeouts(), []int{10_000, 3_000})
	})
}

func TestTheHTTPTimeLimitIsTenSecondsLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script, _, inbox := scripted(t, reply(408).in(time.Hour))
		start := time.Now()
		_, err := inbox.WaitForMessage(t.Context(), Timeout(20*time.Second))
		wantError[*UnreachableError](t, err, "http://server")
		// The wait has looked once more after its deadline, because the connection was lost.
		if waited := time.Since(start); waited < 30*time.Second || len(script.requests) != 2 {
			t.Error(waited, script.timeouts())
		}
	})
}

func TestA429IsRetriedWithGrowingPausesUntilTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script, _, inbox := scripted(t, reply(429))
		start := time.Now()
		_, err := inbox.WaitForMessage(t.Context(), Timeout(30*time.Second))
		wantError[*WaitTimeoutError](t, err)
		if waited := time.Since(start); waited != 30*time.Second {
			t.Error(waited)
		}
		longest := time.Duration(0)
		for index, now := range script.times[1 : len(script.times)-1] {
			before := script.times[index]
			pause := now.Sub(before)
			longest = max(longest, pause)
			if allowed := max(minPause, min(before.Sub(start)/10, maxPause)); pause < minPause/2 || pause > allowed {
				t.Errorf("a pause of %s after %s", pause, before.Sub(start))
			}
		}
		if longest < maxPause/2 {
			t.Errorf("the longest pause is %s", longest)
		}
	})
}

func TestAWaitGoesOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopping := reply(503)
		stopping.header = http.Header{"Retry-After": {"2"}}
		script, _, inbox := scripted(t,
			answer{err: errLost}, answer{err: errRefused}, stopping, answer{status: 200, body: messageJSON})
		if _, err := inbox.WaitForMessage(t.Context()); err != nil {
			t.Fatal(err)
		}
		if pause := script.times[3].Sub(script.times[2]); pause != 2*time.Second {
			t.Errorf("Retry-After is 2 s, the pause %s", pause)
		}
	})
}

func TestASendIsRepeatedOnlyIfItCannotHaveBeenDone(t *testing.T) {
	queued := answer{status: 202, body: `{"id": "o1", "status": "queued"}`}
	for name, test := range map[string]struct {
		first  answer
		isMade bool
	}{
		"refused":  {answer{err: errRefused}, true},
		"too many": {reply(429), true},
		"lost":     {answer{err: errLost}, false},
		"stopping": {reply(503), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script, _, inbox := scripted(t, test.first, queued)
				_, err := inbox.Send(t.Context(), Outgoing{To: "a@app.example"})
				if (err == nil) != test.isMade || len(script.requests) != map[bool]int{true: 2, false: 1}[test.isMade] {
					t.Error(err, len(script.requests))
				}
			})
		})
	}
}

func TestASendToAFullInboxIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script, _, inbox := scripted(t, answer{status: 429, body: `{"error": "recipient inbox is full"}`})
		_, err := inbox.Send(t.Context(), Outgoing{To: "a@app.example"})
		wantError[Error](t, err, "429 recipient inbox is full")
		if len(script.requests) != 1 {
			t.Error(len(script.requests))
		}
	})
}

func TestWhatMayBeDoneTwiceIsRepeated(t *testing.T) {
	for name, failing := range map[string]answer{"lost": {err: errLost}, "stopping": reply(503)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				found, newest := answer{status: 200, body: inboxJSON}, answer{status: 200, body: `{"messages": []}`}
				faults := answer{status: 200, body: `{"faults": []}`}
				script, client, inbox := scripted(t,
					failing, found, failing, found, newest, failing, faults, failing, reply(404))
				_, created := client.CreateInbox(t.Context())
				_, ensured := client.InboxFor(t.Context(), "ada@example.com")
				_, set := inbox.SetFaults(t.Context())
				err := errors.Join(created, ensured, set, inbox.Delete(t.Context()))
				if err != nil || len(script.requests) != 9 {
					t.Error(err, len(script.requests))
				}
			})
		})
	}
}

func TestInboxForListsOneMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newest := answer{status: 200, body: `{"messages": [` + messageJSON + `]}`}
		script, client, _ := scripted(t, answer{status: 200, body: inboxJSON}, newest, reply(408))
		inbox, err := client.InboxFor(t.Context(), "ada@example.com")
		if err != nil || len(script.requests) != 2 || script.requests[1].URL.Query().Get("limit") != "1" {
			t.Fatal(err, script.requests)
		}
		_, _ = inbox.WaitForMessage(t.Context(), Timeout(0))
		if after := script.requests[2].URL.Query().Get("after"); after != "m1" {
			t.Error(after)
		}
	})
}

func TestMessagesAreReadAsTheyAreNeeded(t *testing.T) {
	full := answer{status: 200, body: `{"messages": [` + strings.Repeat(messageJSON+",", pageSize-1) + messageJSON + `]}`}
	last := answer{status: 200, body: `{"messages": [` + messageJSON + `]}`}
	for wanted, requests := range map[int]int{1: 1, pageSize: 1, pageSize + 1: 2, 2 * pageSize: 2} {
		synctest.Test(t, func(t *testing.T) {
			script, _, inbox := scripted(t, full, last)
			read := 0
			for _, err := range inbox.Messages(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if read++; read == wanted {
					break
				}
			}
			if read != min(wanted, pageSize+1) || len(script.requests) != requests {
				t.Error(wanted, read, script.requests)
			}
			if requests == 2 && script.requests[1].URL.Query().Get("before") != "m1" {
				t.Error(script.requests[1].URL)
			}
		})
	}
}

func TestAReadIsRepeatedForTenSeconds(t *testing.T) {
	for name, failing := range map[string]answer{
		"lost": {err: errLost}, "refused": {err: errRefused}, "stopping": reply(503),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, client, _ := scripted(t, failing)
				start := time.Now()
				if _, err := client.Inbox(t.Context(), "k3v9"); err == nil {
					t.Error("no error")
				}
				if waited := time.Since(start); waited != 10*time.Second {
					t.Error(waited)
				}
			})
		})
	}
}

func TestAFailedWaitChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script, _, inbox := scripted(t, answer{status: 200, body: messageJSON}, reply(408).in(30*time.Second))
		_, err := inbox.WaitForMessages(t.Context(), 2)
		wantError[*WaitTimeoutError](t, err, "1 of 2")
		script.answers = []answer{{status: 200, body: messageJSON}}
		if message, err := inbox.WaitForMessage(t.Context()); err != nil || message.ID != "m1" {
			t.Error(message, err)
		}
		if after := script.requests[2].URL.Query().Get("after"); after != "" {
			t.Errorf("the wait starts after %s", after)
		}
	})
}

func TestAWaitEndsBeforeTheDeadlineOfItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, inbox := scripted(t, reply(408).in(4*time.Second))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := inbox.WaitForMessage(ctx)
		wantError[*WaitTimeoutError](t, err, "within 4 s", "not 30 s")
	})
}

func TestNoMessageIsExpectedForTheWholeTime(t *testing.T) {
	late := answer{status: 200, body: messageJSON}.in(9900 * time.Millisecond)
	synctest.Test(t, func(t *testing.T) {
		_, _, inbox := scripted(t, late)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := inbox.ExpectNoMessage(ctx, 10*time.Second, Limit(5*time.Second))
		wantError[*UnexpectedMessageError](t, err, "within 10 s")
	})
	synctest.Test(t, func(t *testing.T) {
		script, _, inbox := scripted(t, reply(408).in(4*time.Second))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		if err := inbox.ExpectNoMessage(ctx, 10*time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if waited := time.Since(start); waited != 5*time.Second || script.timeouts()[0] != 10_000 {
			t.Error(waited, script.timeouts())
		}
	})
}

func TestOnlyAMessageThatIsGoneIsSkippedWithoutItsDetails(t *testing.T) {
	found := answer{status: 200, body: messageJSON}
	option := HeaderMatches("X-Step", regexp.MustCompile("1"))
	synctest.Test(t, func(t *testing.T) {
		_, _, inbox := scripted(t, found, reply(404), reply(408).in(30*time.Second))
		_, err := inbox.WaitForMessage(t.Context(), option)
		wantError[*WaitTimeoutError](t, err)
	})
	synctest.Test(t, func(t *testing.T) {
		_, _, inbox := scripted(t, found, reply(500))
		_, err := inbox.WaitForMessage(t.Context(), option)
		wantError[Error](t, err, "/details: 500")
	})
}

func TestTheErrorOfAnUnexpectedMessageLinksToTheInbox(t *testing.T) {
	_, _, inbox := scripted(t, answer{status: 200, body: messageJSON})
	err := inbox.ExpectNoMessage(t.Context(), time.Second)
	wantError[*UnexpectedMessageError](t, err, `"Hello" from a@app.example`, "\nDashboard: http://server/inboxes/k3v9")
}

func TestWithoutAPageATimeoutLinksToTheInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, inbox := scripted(t, reply(408).in(time.Second))
		_, err := inbox.WaitForMessage(t.Context(), Timeout(time.Second))
		wantError[*WaitTimeoutError](t, err, "\nDashboard: http://server/inboxes/k3v9")
	})
}

func TestACancelledContextEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, inbox := scripted(t, reply(408).in(time.Hour))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		if _, err := inbox.WaitForMessage(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if waited := time.Since(start); waited != time.Second {
			t.Error(waited)
		}
	})
}

func TestClosingEndsWaits(t *testing.T) {
	for name, first := range map[string]answer{"in a request": reply(408).in(time.Hour), "in a pause": reply(429)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, client, inbox := scripted(t, first)
				time.AfterFunc(5*time.Second, func() { _ = client.Close() })
				start := time.Now()
				if _, err := inbox.WaitForMessage(t.Context()); !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
				if waited := time.Since(start); waited != 5*time.Second {
					t.Error(waited)
				}
			})
		})
	}
}

func TestATimeoutHasTheLinkToItsPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := http.Header{"Link": {`<http://server/failures/7>; rel="help"`}}
		first, last := reply(408).in(9*time.Second), reply(408).in(time.Second)
		first.header, last.header = page, page
		_, _, inbox := scripted(t, first, last)
		_, err := inbox.WaitForMessage(t.Context(), Timeout(10*time.Second))
		if timeout := wantError[*WaitTimeoutError](t, err, "failures/7"); timeout.Link != "http://server/failures/7" {
			t.Error(timeout.Link)
		}
	})
}

func TestAnIDIsQuotedInAPath(t *testing.T) {
	script, client, _ := scripted(t, reply(404))
	_, err := client.Inbox(t.Context(), "../projects?x")
	wantError[*NotFoundError](t, err)
	if path := script.requests[0].URL.EscapedPath(); path != "/v1/inboxes/..%2Fprojects%3Fx" {
		t.Error(path)
	}
}

func TestOneLinkNoneAndSeveral(t *testing.T) {
	links := []string{"https://app.example/confirm?token=1", "https://app.example/help"}
	_, client, _ := scripted(t, reply(404))
	message := &Message{MessageFields{Subject: "Hi", InboxID: "k3v9", Links: links}, client.connection}
	if link, err := message.Link("/confirm"); err != nil || link != links[0] {
		t.Error(link, err)
	}
	_, err := message.Link("")
	wantError[*ContentError](t, err, "2 links", links[0], links[1], "\nDashboard: http://server/inboxes/k3v9")
	_, err = message.LinkFunc(func(link string) bool { return strings.Contains(link, "/track") })
	wantError[*ContentError](t, err, "0 links", links[0])
}
