// Pins the Lua interpreter that Argo CD contains, in the version that tools/argocd/go.mod has.
module quantumtraining.dev/tools/cluster/tools/lua

go 1.24.0

tool github.com/yuin/gopher-lua/cmd/glua

require (
	github.com/chzyer/readline v0.0.0-20180603132655-2972be24d48e // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	golang.org/x/sys v0.0.0-20190204203706-41f3e6584952 // indirect
)
