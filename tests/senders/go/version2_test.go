package senders

import (
	"context"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sesv2"
	"github.com/aws/aws-sdk-go-v2/service/sesv2/types"
)

// version2 is SES with the API of version 2.
func version2(t *testing.T) sdk {
	settings, err := config.LoadDefaultConfig(t.Context())
	sent(t, err)
	client := sesv2.NewFromConfig(settings)
	from := aws.String("Zoë <shop@app.example>")
	send := func(ctx context.Context, to types.Destination, content types.EmailContent, replyTo ...string) error {
		_, err := client.SendEmail(ctx, &sesv2.SendEmailInput{
			FromEmailAddress: from, Destination: &to, Content: &content, ReplyToAddresses: replyTo,
		})
		return err
	}
	return sdk{
		simple: func(ctx context.Context, to, subject string) error {
			content := types.Message{Subject: data(subject), Body: &types.Body{Text: data("Hello")}}
			return send(ctx, types.Destination{ToAddresses: []string{to}}, types.EmailContent{Simple: &content})
		},
		whole: func(ctx context.Context, to, cc, bcc string) error {
			all := types.Destination{
				ToAddresses: []string{"Ada Lövelace <" + to + ">"}, CcAddresses: []string{cc}, BccAddresses: []string{bcc},
			}
			return send(ctx, all, types.EmailContent{Simple: wholeMessage()}, "help@app.example")
		},
		batch: func(ctx context.Context, to []string) error {
			content := types.EmailTemplateContent{Subject: aws.String("{{subject}}"), Text: aws.String("Hello")}
			template := types.Template{TemplateContent: &content, TemplateData: aws.String("{}")}
			_, err := client.SendBulkEmail(ctx, &sesv2.SendBulkEmailInput{
				FromEmailAddress: from, DefaultContent: &types.BulkEmailContent{Template: &template},
				BulkEmailEntries: entries(to),
			})
			return err
		},
		template: func(ctx context.Context, to, variables string) error {
			template := types.Template{TemplateName: aws.String("welcome"), TemplateData: aws.String(variables)}
			return send(ctx, types.Destination{ToAddresses: []string{to}}, types.EmailContent{Template: &template})
		},
	}
}

func wholeMessage() *types.Message {
	return &types.Message{
		Subject: data(subject),
		Body:    &types.Body{Text: data(text), Html: data(html)},
		Headers: []types.MessageHeader{{Name: aws.String("X-Order"), Value: aws.String("4711")}},
		Attachments: []types.Attachment{
			{FileName: aws.String(file), RawContent: bytesOfFile, ContentType: aws.String("application/octet-stream")},
			{
				FileName: aws.String("logo.png"), RawContent: image, ContentType: aws.String("image/png"),
				ContentDisposition: types.AttachmentContentDispositionInline, ContentId: aws.String("logo"),
			},
		},
	}
}

func entries(to []string) []types.BulkEmailEntry {
	var entries []types.BulkEmailEntry
	for number, address := range to {
		variables := aws.String(fmt.Sprintf(`{"subject": "Batch %d"}`, number))
		entries = append(entries, types.BulkEmailEntry{
			Destination: &types.Destination{ToAddresses: []string{address}},
			ReplacementEmailContent: &types.ReplacementEmailContent{
				ReplacementTemplate: &types.ReplacementTemplate{ReplacementTemplateData: variables},
			},
		})
	}
	return entries
}

func data(text string) *types.Content {
	return &types.Content{Data: aws.String(text), Charset: aws.String("UTF-8")}
}
