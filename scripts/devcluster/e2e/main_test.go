// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the devcluster command and the clusters that it runs.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// patience is how long tests wait for something that should happen soon.
const patience = time.Minute

// env contains what the tests of this process share. It is a package variable because TestMain
// cannot pass values to tests.
var env struct {
	command string
	shared  *testCluster
}

// testCluster is a running cluster, which ends with this process.
type testCluster struct {
	dir    string
	client *kubernetes.Clientset
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr *bytes.Buffer
}

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "devcluster-e2e-")
	if err != nil {
		return fail(err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			code = fail(err)
		}
	}()
	env.command = filepath.Join(dir, "devcluster")
	build := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-buildvcs=false", "-o", env.command, "../cmd/devcluster")
	if output, err := build.CombinedOutput(); err != nil {
		return fail(fmt.Errorf("build the command: %w\n%s", err, output))
	}
	if env.shared, err = startCluster(filepath.Join(dir, "cluster")); err != nil {
		return fail(err)
	}
	defer func() {
		if err := env.shared.stop(); err != nil {
			code = fail(err)
		}
	}()
	return m.Run()
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// cluster returns the cluster that the tests share.
func cluster(testing.TB) *testCluster { return env.shared }

func startCluster(dir string) (*testCluster, error) {
	c := &testCluster{dir: dir, stderr: &bytes.Buffer{}}
	c.cmd = exec.CommandContext(context.Background(), env.command, "run", "--with-parent", "--dir", dir)
	c.cmd.Stderr = c.stderr
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	if first, err := bufio.NewReader(stdout).ReadString('\n'); first != "ready\n" {
		return nil, fmt.Errorf("the cluster did not start: %w\n%s", errors.Join(err, c.cmd.Wait()), c.stderr)
	}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig"))
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	config.QPS = -1
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

func (c *testCluster) stop() error {
	_ = c.stdin.Close()
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("the cluster did not end well: %w\n%s", err, c.stderr)
	}
	return nil
}

// kubectl runs kubectl and returns its output.
func (c *testCluster) kubectl(t *testing.T, args ...string) (string, error) {
	t.Helper()
	bin, err := os.ReadFile(filepath.Join(c.dir, "binaries"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(strings.TrimSpace(string(bin)), "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(c.dir, "kubeconfig"), "HOME="+t.TempDir())
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// namespace creates a namespace and waits until pods can be created in it.
func (c *testCluster) namespace(tb testing.TB) string {
	tb.Helper()
	created, err := c.client.CoreV1().Namespaces().Create(tb.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
	}, metav1.CreateOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.client.CoreV1().Namespaces().Delete(context.Background(), created.Name, metav1.DeleteOptions{}); err != nil {
			tb.Error(err)
		}
	})
	eventually(tb, "the namespace's service account", func() error {
		_, err := c.client.CoreV1().ServiceAccounts(created.Name).Get(tb.Context(), "default", metav1.GetOptions{})
		return err
	})
	return created.Name
}

// eventually waits until check returns nil. After some time, it ends the test with a message
// that contains what.
func eventually(tb testing.TB, what string, check func() error) {
	tb.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("%s: %v", what, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example/main:1"}}}
}
