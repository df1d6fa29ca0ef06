// Kstatus reads a JSON list of Kubernetes objects, and writes the list of what kstatus says of each of them.
package main

import (
	"encoding/json"
	"log"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type verdict struct {
	Status  status.Status `json:"status"`
	Message string        `json:"message"`
}

func main() {
	var objects []json.RawMessage
	if err := json.NewDecoder(os.Stdin).Decode(&objects); err != nil {
		log.Fatal(err)
	}
	verdicts := make([]verdict, 0, len(objects))
	for _, object := range objects {
		var read unstructured.Unstructured
		if err := read.UnmarshalJSON(object); err != nil {
			log.Fatal(err)
		}
		result, err := status.Compute(&read)
		if err != nil {
			log.Fatal(err)
		}
		verdicts = append(verdicts, verdict{result.Status, result.Message})
	}
	if err := json.NewEncoder(os.Stdout).Encode(verdicts); err != nil {
		log.Fatal(err)
	}
}
