// Asks as Go programs do: net/http asks for gzip by itself and decodes it.
package main

import (
	"io"
	"net/http"
	"os"
)

func main() {
	request, err := http.NewRequest("GET", os.Args[1], nil)
	if err != nil {
		panic(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Args[2])
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != 200 || !answer.Uncompressed {
		panic("the answer was not compressed")
	}
	if _, err := io.Copy(os.Stdout, answer.Body); err != nil {
		panic(err)
	}
}
