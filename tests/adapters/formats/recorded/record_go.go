// Lets Go's encoding/json and go-playground/validator refuse the mistakes of `mistakes.json`, and writes `go.json`.
//
//	apt-get install golang-go golang-github-go-playground-validator-v10-dev
//	GO111MODULE=off GOPATH=/usr/share/gocode go run record_go.go
package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"strings"

	en "github.com/go-playground/locales/en"
	ut "github.com/go-playground/universal-translator"
	"github.com/go-playground/validator/v10"
	translations "github.com/go-playground/validator/v10/translations/en"
)

type Address struct {
	City string `json:"city" validate:"required"`
}

type Order struct {
	Name     string  `json:"name" validate:"required,min=3,max=20"`
	Quantity int     `json:"quantity" validate:"required,min=1,max=200"`
	Status   string  `json:"status" validate:"omitempty,oneof=draft open closed"`
	Address  Address `json:"address" validate:"required"`
}

type answer struct {
	Framework string      `json:"framework"`
	Version   string      `json:"version"`
	Mistake   string      `json:"mistake"`
	Status    int         `json:"status"`
	Type      string      `json:"type"`
	Answer    interface{} `json:"answer"`
}

func main() {
	version, _ := exec.Command("dpkg-query", "-W", "-f", "${Version}", "golang-github-go-playground-validator-v10-dev").Output()
	check := validator.New()
	english := en.New()
	translator, _ := ut.New(english, english).GetTranslator("en")
	if err := translations.RegisterDefaultTranslations(check, translator); err != nil {
		panic(err)
	}
	var mistakes []struct {
		Name string          `json:"name"`
		Body json.RawMessage `json:"body"`
	}
	file, err := os.ReadFile("mistakes.json")
	if err != nil {
		panic(err)
	}
	if err := json.Unmarshal(file, &mistakes); err != nil {
		panic(err)
	}
	var out []string
	add := func(framework, version, mistake string, said interface{}) {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(answer{framework, version, mistake, 400, "application/json", said}); err != nil {
			panic(err)
		}
		out = append(out, strings.TrimSpace(text.String()))
	}
	for _, one := range mistakes {
		var order Order
		decoder := json.NewDecoder(bytes.NewReader(one.Body))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&order); err != nil {
			add("Go, encoding/json", strings.TrimPrefix(runtime.Version(), "go"), one.Name, map[string]string{"error": err.Error()})
			continue
		}
		err := check.Struct(order)
		if err == nil {
			continue
		}
		debian := strings.Split(string(version), "-")[0]
		add("Go validator, its text", debian, one.Name, map[string]string{"error": err.Error()})
		told := map[string]string{}
		for _, failed := range err.(validator.ValidationErrors) {
			told[failed.Namespace()] = failed.Translate(translator)
		}
		add("Go validator, translated", debian, one.Name, map[string]interface{}{"errors": told})
	}
	if err := os.WriteFile("go.json", []byte("[\n"+strings.Join(out, ",\n")+"\n]\n"), 0o644); err != nil {
		panic(err)
	}
}
