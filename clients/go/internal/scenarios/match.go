// Comparing the result of a step with what a scenario expects.

package scenarios

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/restante/restante/clients/go/restante"
)

// jsonOf returns a result the way the server would write it.
func jsonOf(value any) any {
	switch value := value.(type) {
	case []byte:
		return string(value)
	case *restante.Client:
		return jsonOf(map[string]any{
			"mail_domain": value.MailDomain(), "mailpit_url": value.MailpitURL(), "smtp": value.SMTP(), "url": value.URL(),
		})
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	var plain any
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&plain); err != nil {
		panic(err)
	}
	return plain
}

// matches compares as clients/README.md says.
func matches(found, wanted any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		for operator, operand := range wanted {
			if strings.HasPrefix(operator, "$") {
				return holds(found, operator, operand)
			}
		}
		fields, isObject := found.(map[string]any)
		for name, value := range wanted {
			if field, exists := fields[name]; !exists || !matches(field, value) {
				return false
			}
		}
		return isObject
	case []any:
		list, isList := found.([]any)
		if !isList || len(list) != len(wanted) {
			return false
		}
		for index := range wanted {
			if !matches(list[index], wanted[index]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(found, wanted)
}

func holds(found any, operator string, operand any) bool {
	text, _ := found.(string)
	switch operator {
	case "$contains":
		return strings.Contains(text, operand.(string))
	case "$matches":
		return regexp.MustCompile(operand.(string)).MatchString(text)
	case "$length":
		if list, isList := found.([]any); isList {
			return float64(len(list)) == operand.(float64)
		}
		return float64(len(text)) == operand.(float64)
	case "$base64":
		// encoding/json writes bytes in this form.
		_, err := base64.StdEncoding.DecodeString(text)
		return err == nil && text == operand.(string)
	}
	panic("unknown operator " + operator)
}

// mistaken returns what differs between an error and the description of the expected one, or nothing.
func mistaken(err error, wanted map[string]any) string {
	kind := reflect.TypeOf(err)
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	name := kind.Name()
	if name == "failure" {
		name = "RestanteError" // It is only an Error, which is an interface in Go.
	}
	if name != wanted["type"] {
		return fmt.Sprintf("it is a %s: %v", name, err)
	}
	for _, part := range list(wanted["message"]) {
		if !strings.Contains(err.Error(), part.(string)) {
			return fmt.Sprintf("%q is not in: %v", part, err)
		}
	}
	for _, part := range list(wanted["no"]) {
		if printed := fmt.Sprintf("%v %+v", err, err); strings.Contains(printed, part.(string)) {
			return fmt.Sprintf("%q is in: %s", part, printed)
		}
	}
	fields := reflect.ValueOf(err).Elem()
	for name, value := range object(wanted["fields"]) {
		field := fields.FieldByName(strings.ToUpper(name[:1]) + name[1:])
		if !field.IsValid() || !matches(jsonOf(field.Interface()), value) {
			return fmt.Sprintf("its %s is %v", name, jsonOf(field.Interface()))
		}
	}
	return ""
}

func list(value any) []any {
	items, _ := value.([]any)
	return items
}

func object(value any) map[string]any {
	fields, _ := value.(map[string]any)
	return fields
}
