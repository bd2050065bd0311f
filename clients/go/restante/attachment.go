// The attachments of a message: all of them, or the one with a name.

package restante

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Attachment is an attachment with its decoded bytes.
type Attachment struct {
	AttachmentInfo
	Content []byte `json:"content"`
}

// Attachments returns the attachments with their bytes.
func (m *Message) Attachments(ctx context.Context) ([]Attachment, error) {
	details, err := m.Details(ctx)
	if err != nil {
		return nil, err
	}
	attachments := make([]Attachment, 0, len(details.Attachments))
	for _, info := range details.Attachments {
		attachment, err := m.withContent(ctx, info)
		if err != nil {
			return nil, err
		}
		attachments = append(attachments, attachment)
	}
	return attachments, nil
}

// Attachment returns the only attachment with a name, in any case, where * stands for any characters; or the only
// attachment if the name is empty. If there is not exactly one, the error lists the names.
func (m *Message) Attachment(ctx context.Context, name string) (Attachment, error) {
	if name == "" {
		return m.attachment(ctx, func(string) bool { return true }, "")
	}
	parts := strings.Split(name, "*")
	for index, part := range parts {
		parts[index] = regexp.QuoteMeta(part)
	}
	// The parts are quoted, so the expression is valid.
	pattern := regexp.MustCompile("(?is)^" + strings.Join(parts, ".*") + "$")
	return m.attachment(ctx, pattern.MatchString, fmt.Sprintf(" that match %q", name))
}

// AttachmentFunc returns the only attachment for whose name a function returns true.
func (m *Message) AttachmentFunc(ctx context.Context, matches func(name string) bool) (Attachment, error) {
	return m.attachment(ctx, matches, " that match the function")
}

func (m *Message) attachment(ctx context.Context, matches func(string) bool, wanted string) (Attachment, error) {
	details, err := m.Details(ctx)
	if err != nil {
		return Attachment{}, err
	}
	isExcluded := func(one AttachmentInfo) bool { return !matches(one.Filename) }
	found := slices.DeleteFunc(slices.Clone(details.Attachments), isExcluded)
	if len(found) == 1 {
		return m.withContent(ctx, found[0])
	}
	listed := ""
	for _, one := range details.Attachments {
		listed += fmt.Sprintf("\n  %s (%s)", or(one.Filename, "without a name"), one.ContentType)
	}
	return Attachment{}, m.contentError("has %d attachments%s. Exactly one is needed. Its attachments:%s",
		len(found), wanted, or(listed, " none"))
}

func (m *Message) withContent(ctx context.Context, info AttachmentInfo) (Attachment, error) {
	content, err := m.content(ctx, fmt.Sprintf("attachments/%d", info.Index))
	return Attachment{info, content}, err
}
