// Coscheduling is Kubernetes' scheduler with the Coscheduling plugin, which places all pods of a PodGroup or none.
// The scheduler of the plugin's own project has a dozen more plugins, and ten times as many modules to pin for them.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	_ "sigs.k8s.io/scheduler-plugins/apis/config/scheme"
	"sigs.k8s.io/scheduler-plugins/pkg/coscheduling"
)

func main() {
	os.Exit(cli.Run(app.NewSchedulerCommand(app.WithPlugin(coscheduling.Name, coscheduling.New))))
}
