module github.com/ordered-helm/helm/scripts/tools/terminal-to-html

go 1.26.0

tool github.com/buildkite/terminal-to-html/v3/cmd/terminal-to-html

require (
	github.com/buildkite/terminal-to-html/v3 v3.17.1 // indirect
	github.com/cpuguy83/go-md2man/v2 v2.0.7 // indirect
	github.com/russross/blackfriday/v2 v2.1.0 // indirect
	github.com/urfave/cli/v2 v2.27.7 // indirect
	github.com/xrash/smetrics v0.0.0-20240521201337-686a1a2994c1 // indirect
	golang.org/x/sys v0.46.0 // indirect
)
