// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	"github.com/hashicorp/go-multierror"
	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/cli-runtime/pkg/resource"
)

// Create creates objects that are taken not to be there: neighbours of one kind
// side by side, kinds one after the other. Each that the server has taken becomes
// what it made of it. One that cannot be created does not keep the others; the error
// is, as Helm's, a *multierror.Error, in the order of the list.
func (c *Client) Create(ctx context.Context, list kube.ResourceList) error {
	if len(list) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.backend.create(ctx, list)
}

func (d delegated) create(_ context.Context, list kube.ResourceList) error {
	_, err := d.kube.Create(list)
	return err
}

func (n native) create(ctx context.Context, list kube.ResourceList) error {
	client, err := n.Dynamic()
	if err != nil {
		return err
	}
	n.log("creating %d resource(s)", len(list))
	w := n.newWriter(client, ApplyOptions{})
	failures := make([]error, len(list))
	kindByKind(list, func(i int) { failures[i] = w.createNew(ctx, list[i]) })
	var failed *multierror.Error
	for _, err := range failures {
		if err != nil {
			failed = multierror.Append(failed, err)
		}
	}
	return failed.ErrorOrNil()
}

// CreateHook creates the objects of a hook, one after the other. Each becomes what
// the server made of it. One that is there already is an error.
func (c *Client) CreateHook(ctx context.Context, list kube.ResourceList) error {
	return c.backend.createHook(ctx, list)
}

func (d delegated) createHook(ctx context.Context, list kube.ResourceList) error {
	return d.Create(ctx, list)
}

func (n native) createHook(ctx context.Context, list kube.ResourceList) error {
	client, err := n.Dynamic()
	if err != nil {
		return err
	}
	w := n.newWriter(client, ApplyOptions{})
	for _, info := range list {
		if err := w.createNew(ctx, info); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) createNew(ctx context.Context, info *resource.Info) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	taken, err := w.post(ctx, &change{info: info})
	if err != nil {
		return err
	}
	return info.Refresh(taken, true)
}

// kindByKind calls do for the place of each object: for neighbours of one kind side
// by side, for kinds one after the other.
func kindByKind(list kube.ResourceList, do func(i int)) {
	for begin := 0; begin < len(list); {
		end := begin + 1
		for end < len(list) && list[end].Mapping.GroupVersionKind.Kind == list[begin].Mapping.GroupVersionKind.Kind {
			end++
		}
		var g errgroup.Group
		g.SetLimit(mostAtOnce)
		for i := begin; i < end; i++ {
			g.Go(func() error {
				do(i)
				return nil
			})
		}
		_ = g.Wait() // who calls keeps errors by object
		begin = end
	}
}
