#!/usr/bin/env bash
# Copyright The Ordered Helm Authors
# SPDX-License-Identifier: Apache-2.0
#
# Demonstrates the controller on a temporary cluster: HelmRequests that depend on each other are
# deployed, changed, and deleted. The controller runs as a process with the permissions of its chart,
# because the dev cluster only simulates containers. `make demo-controller` builds the binaries that it
# needs.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for binary in helm helm-controller devcluster; do
	[[ -x bin/$binary ]] || {
		echo "bin/$binary is missing: start this with 'make demo-controller'" >&2
		exit 1
	}
done
# shellcheck source=scripts/demo-cluster.sh
source scripts/demo-cluster.sh

kubectl() { alone "$(cat "$dir/binaries")/kubectl" "$@"; }
export HELM_DRIVER=crd

step "Install the definitions of releases as objects of the cluster, and roles for them"
alone bin/helm state init --chart "$dir/helm-state"
HELM_DRIVER=secret alone bin/helm install helm-state "$dir/helm-state" --namespace helm-system --create-namespace

step "helm install helm-controller: its chart deploys the definition of HelmRequest and the roles first"
alone bin/helm install helm-controller cmd/helm-controller/chart --namespace helm-system --wait=ordered --set replicas=0

step "Start the controller with its service account"
kubectl config view --raw >"$dir/controller.kubeconfig"
token=$(kubectl create token helm-controller --namespace helm-system)
KUBECONFIG=$dir/controller.kubeconfig kubectl config set-credentials controller --token "$token" >/dev/null
KUBECONFIG=$dir/controller.kubeconfig kubectl config set-context --current --user controller >/dev/null
bin/helm-controller --kubeconfig "$dir/controller.kubeconfig" --metrics-bind-address 0 --health-probe-bind-address 0 {alive}>&- >/dev/null 2>"$dir/controller.log" &
controller=$!
stop_controller() {
	kill "$controller" 2>/dev/null || true
	wait "$controller" 2>/dev/null || true
}
trap 'code=$?; stop_controller; (exit "$code"); finish' EXIT

step "A namespace with a service account that may deploy there"
kubectl create namespace team-a
kubectl create serviceaccount deployer --namespace team-a
kubectl create rolebinding deployer --namespace team-a --clusterrole admin --serviceaccount team-a:deployer

step "Two charts, and HelmRequests for them (examples/controller/requests.yaml)"
for chart in examples/shop examples/umbrella/charts/platform; do
	alone bin/helm package "$chart" --destination "$dir" >/dev/null
done
kubectl create configmap charts --namespace team-a --from-file=shop.tgz="$(echo "$dir"/shop-*.tgz)" --from-file=platform.tgz="$(echo "$dir"/platform-*.tgz)"
kubectl create secret generic shop-values --namespace team-a --from-literal=values.yaml='database: {password: not-in-the-request}'
kubectl apply -f examples/controller/requests.yaml

step "kubectl wait: shop is deployed after the platform that it depends on"
kubectl wait --for=condition=Ready helmrequest --all --namespace team-a --timeout 2m
kubectl get helmrequests --namespace team-a

step "The command line sees the same releases"
alone bin/helm list --namespace team-a

step "Change a request: the release is upgraded"
kubectl patch helmrequest shop --namespace team-a --type merge --patch '{"spec":{"values":{"replicas":{"web":2}}}}'
kubectl wait --for=condition=Ready helmrequest shop --namespace team-a --timeout 2m
alone bin/helm history shop --namespace team-a

step "Roll back by hand: the controller notices, and says so"
alone bin/helm rollback shop 1 --namespace team-a
kubectl wait --for=condition=DeployedByHand helmrequest shop --namespace team-a --timeout 2m
kubectl get helmrequest shop --namespace team-a --output wide

step "Delete the requests: the shop is uninstalled before its platform"
kubectl delete -f examples/controller/requests.yaml
[[ -z $(alone bin/helm list --all --short --namespace team-a) ]] || fail "helm list still shows a release"
