// Redis in memory, on the port that the first argument names: all that Argo CD needs of one.
package main

import (
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/alicebob/miniredis/v2"
)

func main() {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr("127.0.0.1:" + os.Args[1]); err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, os.Interrupt, syscall.SIGTERM)
	<-stopped
}
