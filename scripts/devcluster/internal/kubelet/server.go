// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// followInterval is the interval at which the server checks whether the container of a
// followed log is still running.
const followInterval = 200 * time.Millisecond

// Server serves the logs of the pods of all nodes to the API server.
type Server struct {
	client   kubernetes.Interface
	listener net.Listener
	server   *http.Server
}

// ServerTLS contains the credentials with which a Server and its only client authenticate each
// other.
type ServerTLS struct {
	// CertPEM and KeyPEM are the certificate and key of the server.
	CertPEM, KeyPEM []byte
	// ClientCAPEM is the certificate of the CA that has signed the client's certificate.
	// ClientName is the common name of the client.
	ClientCAPEM []byte
	ClientName  string
}

func (t ServerTLS) config() (*tls.Config, error) {
	cert, err := tls.X509KeyPair(t.CertPEM, t.KeyPEM)
	if err != nil {
		return nil, fmt.Errorf("load the kubelets' certificate: %w", err)
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(t.ClientCAPEM) {
		return nil, errors.New("load the authority of the kubelets' clients: no certificate found")
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{cert},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    clients,
		VerifyConnection: func(state tls.ConnectionState) error {
			if name := state.PeerCertificates[0].Subject.CommonName; name != t.ClientName {
				return fmt.Errorf("%q is not allowed to access the kubelets", name)
			}
			return nil
		},
	}, nil
}

// NewServer returns a Server that listens on a free port of 127.0.0.1. It answers requests
// only while Run is running.
func NewServer(ctx context.Context, client kubernetes.Interface, serverTLS ServerTLS) (*Server, error) {
	config, err := serverTLS.config()
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for log requests: %w", err)
	}
	s := &Server{client: client, listener: listener}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", s.serveLog)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the dev cluster runs no containers: its kubelets serve only logs", http.StatusNotImplemented)
	})
	s.server = &http.Server{
		Handler:           mux,
		TLSConfig:         config,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	return s, nil
}

// Port is the port that the server listens on.
func (s *Server) Port() int32 { return int32(s.listener.Addr().(*net.TCPAddr).Port) }

// Run answers requests until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- s.server.ServeTLS(s.listener, "", "") }()
	select {
	case err := <-served:
		return fmt.Errorf("serve logs: %w", err)
	case <-ctx.Done():
		err := s.server.Close()
		if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
			err = errors.Join(err, serveErr)
		}
		if err != nil {
			return fmt.Errorf("stop serving logs: %w", err)
		}
		return nil
	}
}

// Close closes the port of a server for which Run was not called.
func (s *Server) Close() error { return s.listener.Close() }

func (s *Server) serveLog(w http.ResponseWriter, r *http.Request) {
	query, err := parseLogQuery(r.URL.Query(), time.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	container := r.PathValue("container")
	pod, err := s.pod(r)
	if apierrors.IsNotFound(err) || err == nil && !hasContainer(pod, container) {
		http.Error(w, "no such container", http.StatusNotFound)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	at, err := written(pod, container, query.previous)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	if _, err := io.WriteString(w, query.cut(logText(pod, container), at)); err != nil {
		return
	}
	if query.follow {
		s.follow(w, r, pod.UID, container)
	}
}

// follow keeps the response open while the container is running.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, uid types.UID, container string) {
	if http.NewResponseController(w).Flush() != nil {
		return
	}
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
		}
		pod, err := s.pod(r)
		if err != nil || pod.UID != uid {
			return
		}
		if status := findStatus(pod, container); status == nil || status.State.Running == nil {
			return
		}
	}
}

func (s *Server) pod(r *http.Request) (*corev1.Pod, error) {
	return s.client.CoreV1().Pods(r.PathValue("namespace")).Get(r.Context(), r.PathValue("pod"), metav1.GetOptions{})
}
